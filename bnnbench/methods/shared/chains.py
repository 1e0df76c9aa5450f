"""The base class of methods that run several Markov chains over all weights, and diagnostics.

The diagnostics are R-hat and effective sample sizes, computed by `arviz_stats`: Vehtari, Gelman,
Simpson, Carpenter & Bürkner, "Rank-normalization, folding, and localization: An improved R-hat",
*Bayesian Analysis* 2021. Computed for predictions, because weights are not identifiable: hidden
units can be permuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.constraints import Count
from bnnbench.likelihoods import Gaussian, Likelihood
from bnnbench.methods.shared.chunking import evenly_spaced, network_outputs
from bnnbench.methods.shared.contract import DRAWS, Diagnosis, FitTask, Method, Posterior
from bnnbench.methods.shared.hmc.network import map_estimate, posterior_target
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

NOISE, WEIGHTS = "noise_precision", "prior_precision"


@dataclass(frozen=True, kw_only=True)
class ChainsMethod(Method):
    """Predicts with an equally weighted mixture of all kept networks of C chains.

    A posterior has the kept networks as `chain`, `[R, C K, P]`, ordered by chain, and sampled
    precisions, `[R, C K]`.

    Attributes:
        likelihood: the distribution of targets given the outputs, and its loss.
        chains: C.
        map_steps: full-batch steps of Adam, with `training.learning_rate`, that train the networks
            at which chains start.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    chains: Count = 4
    map_steps: Count = 1000
    is_stochastic: ClassVar[bool] = False
    joint: ClassVar[str] = DRAWS

    def initial_networks(self, task: FitTask) -> Tensor:
        """Return a network with the usual initial weights for every chain, `[C, R, P]`."""
        networks = torch.stack([task.mlp.initial(task.streams) for _ in range(self.chains)])
        return networks.expand(-1, task.data.replicas, -1).contiguous()

    def trained(self, task: FitTask, networks: Tensor, factors: Tensor) -> Tensor:
        """Return MAP estimates, trained from the given networks `[C, R, P]`."""
        target = posterior_target(task.mlp, self.likelihood, task.data, task.hyper)
        return map_estimate(target, networks, factors, self.map_steps, task.training)

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Return at most `samples` kept networks, evenly spaced over all chains, `[S, R, P]`."""
        return evenly_spaced(samples, posterior.state["chain"].transpose(0, 1))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one mixture component per network."""
        networks = self.sample_weights(posterior, samples, streams)
        outputs = network_outputs(posterior.mlp, networks, inputs)
        if NOISE not in posterior.state:
            return self.likelihood.prediction(outputs, posterior.hyper)
        noise = 1 / evenly_spaced(samples, posterior.state[NOISE].T)[..., None]
        return Prediction(outputs.squeeze(3), torch.zeros_like(noise), noise)

    def diagnose(self, posterior: Posterior, inputs: Tensor, rows: Sequence[int]) -> Diagnosis:
        """Diagnose the predicted means, and compute R-hat of sampled precisions."""
        networks = posterior.state["chain"].transpose(0, 1)
        means = network_outputs(posterior.mlp, networks, inputs)[..., 0]
        diagnosis = diagnose_predictions(self._by_chain(means), rows)
        precisions = {
            f"r_hat_{name}": convergence_diagnostics(self._by_chain(value.T))["r_hat"]
            for name, value in posterior.state.items()
            if name in (NOISE, WEIGHTS)
        }
        return replace(diagnosis, summary={**diagnosis.summary, **precisions})

    def _by_chain(self, draws: Tensor) -> Tensor:
        """Return draws `[C K, ...]` of all chains as `[C, K, ...]`."""
        return torch.unflatten(draws, 0, (self.chains, -1))


NAMES = ("r_hat", "bulk_ess", "tail_ess")

SUMMARY_QUANTILE = 0.99
"""The summary has this quantile of R-hat over points, and 1 minus this quantile of sample sizes."""

TAILS = (0.05, 0.95)

MIN_DRAWS = 4
"""Draws per chain; with fewer, the halves of a chain have no variance."""


def convergence_diagnostics(series: Tensor) -> dict[str, Tensor]:
    """Return rank-normalised split R-hat and effective sample sizes of the bulk and the tails.

    Args:
        series: `[C, K, ...]`, K draws of each of C chains.

    Returns:
        `r_hat`, `bulk_ess` and `tail_ess`, `[...]` each, float64; NaN for constant series, too few
        draws or a single chain.
    """
    from arviz_stats.base.array import array_stats

    chains, draws, *shape = series.shape
    if chains < 2 or draws < MIN_DRAWS:
        return {
            name: torch.full(shape, torch.nan, dtype=torch.float64, device="cpu") for name in NAMES
        }
    array, axes = series.double().cpu().numpy(), {"chain_axis": 0, "draw_axis": 1}
    spread = np.ptp(array, (0, 1))
    # A power of two changes no rank, but arviz takes any small spread for that of a constant.
    array = array / np.exp2(np.frexp(spread)[1].clip(-1000, 1000))
    with np.errstate(all="ignore"):
        values = (
            array_stats.rhat(array, **axes),
            array_stats.ess(array, **axes),
            array_stats.ess(array, method="tail", prob=TAILS, **axes),
        )
    moved = np.where(spread > 0, 1.0, np.nan)
    return {n: torch.from_numpy(np.asarray(v * moved)) for n, v in zip(NAMES, values, strict=True)}


def diagnose_predictions(predicted: Tensor, rows: Sequence[int]) -> Diagnosis:
    """Return the diagnostics at each point, and the bound met by 99 % of a replica's points.

    A point without a diagnostic meets no bound: the summary is NaN if 1 % of the points have none.

    Args:
        predicted: `[C, K, R, M]`, the prediction of each draw.
        rows: number of points of each replica, without padding.
    """
    points = convergence_diagnostics(predicted)
    summary = {}
    for name, values in points.items():
        level, worst = (
            (SUMMARY_QUANTILE, torch.inf) if name == "r_hat" else (1 - SUMMARY_QUANTILE, -torch.inf)
        )
        bounds = torch.stack([
            v[:count].nan_to_num(worst).quantile(level)
            for v, count in zip(values, rows, strict=True)
        ])  # fmt: skip
        summary[name] = bounds.where(bounds.isfinite(), torch.nan)
    return Diagnosis(points, summary)
