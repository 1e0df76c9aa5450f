"""The base class of stochastic-gradient MCMC methods, which run one Markov chain per replica."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Between, Count
from bnnbench.methods.shared.chunking import evenly_spaced, network_outputs
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.minibatches import Noise
from bnnbench.methods.shared.trainer import StochasticMethod, train
from bnnbench.nn import MLP, forward
from bnnbench.random_streams import Streams

MAX_DIAGNOSTIC_ROWS = 100  # training rows used to estimate the effective sample size


@dataclass(frozen=True, kw_only=True)
class SGMCMC(StochasticMethod):
    """Predicts with an equally weighted mixture of the networks kept from the chain.

    If the chain has more than `evaluation.samples` networks, evenly spaced ones are used.

    Attributes:
        burn_in: fraction of the epochs that is discarded at the start.
        thinning: keep every `thinning`-th network, counted back from the last one.
    """

    burn_in: Annotated[float, Between(0, 1, low_included=True)] = 0.5
    thinning: Count = 5
    is_stochastic: ClassVar[bool] = False

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return (streams.normal(1, mlp.n_weights)[0],)

    def n_steps(self, task: FitTask) -> int:
        """Return the number of steps of a fit."""
        return task.epochs * math.ceil(task.data.inputs.shape[1] / task.batch_size)

    def saved_steps(self, task: FitTask) -> range:
        """Return the steps, counted from 1, after which the network is kept."""
        last = self.n_steps(task)
        return range(last, int(self.burn_in * last), -self.thinning)[::-1]

    def fit(self, task: FitTask) -> Posterior:
        posterior = train(self, task, self.saved_steps(task))
        return replace(posterior, diagnostics=self._diagnostics(posterior, task))

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Use the current network of the chain: one sample."""
        return forward(posterior.mlp, posterior.state["loc"][None], inputs)[0]

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return `prior_precision / 2 ||w||^2`; the objective is the negative log-posterior."""
        loc = posterior.state["loc"]
        return 0.5 * (posterior.hyper["prior_precision"] * loc.square()).sum(1)

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Return at most `samples` of the kept networks, evenly spaced."""
        return evenly_spaced(samples, posterior.state["chain"].transpose(0, 1))

    def outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return one sample per network."""
        networks = self.sample_weights(posterior, samples, streams)
        return network_outputs(posterior.mlp, networks, inputs)

    @torch.no_grad()
    def _diagnostics(self, posterior: Posterior, task: FitTask) -> dict[str, Tensor]:
        """Return the number of kept networks and their effective sample size.

        The effective sample size is that of the predicted mean, the median over training rows.
        Weights are not used because they are not identifiable.
        """
        chain, inputs = (
            posterior.state["chain"].transpose(0, 1),
            task.data.inputs[:, :MAX_DIAGNOSTIC_ROWS],
        )
        sizes = effective_sample_size(network_outputs(posterior.mlp, chain, inputs)[..., 0])
        padding = torch.arange(sizes.shape[1], device=sizes.device) >= posterior.counts
        median = sizes.masked_fill(padding, torch.nan).nanmedian(1).values
        n_kept = torch.full_like(median, len(chain))
        diverged = posterior.diverged
        return {
            "kept_samples": n_kept.masked_fill(diverged, torch.nan),
            "effective_samples": median.masked_fill(diverged, torch.nan),
        }


def effective_sample_size(series: Tensor) -> Tensor:
    """Return the effective sample size of K samples of a chain.

    K divided by the integrated autocorrelation time `1 + 2 (rho_1 + rho_2 + ...)`. The sum ends
    before the first pair of neighbouring lags whose autocorrelations add up to zero or less: the
    initial positive sequence of Geyer, "Practical Markov Chain Monte Carlo", Statistical Science
    1992, section 3.3. The result is capped at K, also for chains that alternate around their mean.

    Args:
        series: `[K, ...]`, one number per sample, in the order of the chain.

    Returns:
        `[...]`, at most K; NaN for a series that never moves, which has no autocorrelation.
    """
    length = len(series)
    centred = (series - series.mean(0)).double()
    # Zero padding avoids circular correlation.
    spectrum = torch.fft.rfft(centred, 2 * length, dim=0)
    covariance = torch.fft.irfft(spectrum.abs().square(), 2 * length, dim=0)[:length]
    variance = covariance[0]
    even, odd = covariance[0::2], covariance[1::2]
    pairs = even.clone()
    pairs[: len(odd)] += odd
    leading = (pairs > 0).cumprod(0)
    time = 2 * (pairs * leading).sum(0) / variance - 1
    moved = (series != series[:1]).any(0)
    return torch.where(moved, length / time.clamp(min=1), torch.nan)
