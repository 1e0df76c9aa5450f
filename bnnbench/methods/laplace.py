"""The Laplace approximation: a Gaussian around the MAP network.

Lecture, Álvarez, "Approximate inference for neural networks"; MacKay, "A Practical Bayesian
Framework for Backpropagation Networks", Neural Computation 1992; Ritter, Botev & Barber, "A
Scalable Laplace Approximation for Neural Networks", ICLR 2018 (Kronecker factors); Daxberger et
al., "Laplace Redux", NeurIPS 2021 (last layer, linearised predictive).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from bnnbench.constraints import Count, OneOf, Positive
from bnnbench.identity import optional_identity
from bnnbench.losses import LOG_2PI, NLL
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.chunking import MAX_ACTIVATIONS
from bnnbench.methods.shared.contract import COVARIANCE, DRAWS, FitTask, Posterior, State
from bnnbench.methods.shared.evidence import (
    log_evidence,
    optimal_precisions,
    optimal_prior_precision,
)
from bnnbench.methods.shared.gauss_newton import CURVATURES, Curvature, CurvatureRows, scaled
from bnnbench.methods.shared.gaussian import GaussianMethod, linearised_covariance, mean_gradients
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.nn import MLP, Layer, forward, outer_factors
from bnnbench.random_streams import Streams
from bnnbench.settings import Network
from bnnbench.types import Hyper, Prediction, TrainingSet, UserError

MAX_FULL_WEIGHTS = 2000  # a matrix of 32 MB and a few seconds per network

NOISE, PRIOR = "noise_precision", "prior_precision"
SEARCH, EVIDENCE = "search", "marginal_likelihood"


class Round(NamedTuple):
    """A fit: its mode, the curvature there, the hyper-parameters (float64) and diagnostics."""

    mode: Posterior
    curvature: State
    hyper: Hyper
    diagnostics: Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Laplace(GaussianMethod, MAP):
    """`Normal(w*, (H + prior_precision I)^-1)` around the network `w*` that `MAP` finds.

    `H = sum_n J_n' C_n J_n` is the Gauss-Newton matrix of the summed loss at `w*`. It is the
    lecture's expected Hessian for a network that is linear in its weights, and exact for a linear
    model. `J_n` is the Jacobian of the outputs at training point n and `C_n` the expected second
    derivative of the loss; with `likelihood=gaussian` and `loss=nll`, `C_n` is the noise precision.

    The predictive distribution at an input whose mean output has the gradient `g` at `w*` is

        linearised   Normal(f(x, w*), g' (H + prior_precision I)^-1 g + noise)
        sampled      the mixture of networks with weights drawn from the posterior

    `linearised` matches the assumption of the approximation (`f` is linear in the weights).
    `sampled` evaluates the network itself; with few rows per weight it is known to be much worse
    than `w*` (Immer, Korzepa & Bauer, "Improving Predictions of Bayesian Neural Nets via Local
    Linearization", AISTATS 2021). If the network predicts the noise, the linearised predictive
    uses the noise predicted by `w*`.

    Attributes:
        curvature: structure of H: `diagonal`, `kronecker` (one product per layer) or `full`.
        last_layer: whether only the output layer is uncertain; the other weights are fixed at `w*`.
        predictive: `linearised` or `sampled`.
        prior_precision_by: `search` uses the hyper-parameter; `marginal_likelihood` maximises the
            log marginal likelihood at `w*` (`shared/evidence.py`).
        noise_precision_by: the same for the noise precision, together with the prior precision;
            no effect if the network predicts the noise.
        initial_prior_precision: used in training if `prior_precision_by=marginal_likelihood`.
        initial_noise_precision: used in training if `noise_precision_by=marginal_likelihood`.
        evidence_rounds: number of fits from new initial weights, each with the precisions that
            maximise the marginal likelihood of the previous one; the fit with the largest marginal
            likelihood is kept. With 1, `w*` is that of the initial precisions.
    """

    identity_name = "bnnbench.methods.laplace.Laplace"
    family = "laplace"
    curvature: Annotated[str, OneOf(*CURVATURES)] = "kronecker"
    last_layer: bool = False
    predictive: Annotated[str, OneOf("linearised", "sampled")] = "linearised"
    prior_precision_by: Annotated[str, OneOf(SEARCH, EVIDENCE)] = SEARCH
    noise_precision_by: Annotated[str, OneOf(SEARCH, EVIDENCE)] = optional_identity(SEARCH)
    initial_prior_precision: Positive = 1.0
    initial_noise_precision: Positive = optional_identity(10.0)
    evidence_rounds: Count = optional_identity(1)
    portable_prediction = False
    variants = (
        {"curvature": "full", "predictive": "sampled"},
        {"curvature": "diagonal", "last_layer": True, "predictive": "sampled"},
        {"prior_precision_by": "marginal_likelihood", "predictive": "sampled"},
    )

    def check(self) -> None:
        super().check()
        for name in self._by_evidence:
            if getattr(self, name) is not None:
                raise UserError(
                    f"method.{name}={getattr(self, name)!r} cannot be combined with "
                    f"method.{name}_by={EVIDENCE}, which determines it; leave out one of them.",
                    setting=f"method.{name}",
                )
        if NOISE not in self._by_evidence:
            return
        if PRIOR not in self._by_evidence:
            raise UserError(
                f"method.{NOISE}_by={EVIDENCE} needs method.{PRIOR}_by={EVIDENCE}; the two "
                "precisions are determined together.",
                setting=f"method.{PRIOR}_by",
                code="both",
            )
        if not isinstance(self.likelihood.loss, NLL):
            raise UserError(
                f"method.{NOISE}_by={EVIDENCE} needs loss=nll, not "
                f"loss={self.likelihood.loss.label}; use method.{NOISE}_by={SEARCH}.",
                setting=f"method.{NOISE}_by",
                code="loss",
            )

    @property
    def _by_evidence(self) -> tuple[str, ...]:
        """The hyper-parameters that maximise the marginal likelihood."""
        return tuple(n for n in super().hyper_names if getattr(self, f"{n}_by") == EVIDENCE)

    @property
    def _structure(self) -> Curvature:
        return CURVATURES[self.curvature]

    @property
    def hyper_names(self) -> tuple[str, ...]:
        return tuple(name for name in super().hyper_names if name not in self._by_evidence)

    @property
    def gradients_per_epoch(self) -> int:
        return self.evidence_rounds

    @property
    def is_stochastic(self) -> bool:
        return self.predictive == "sampled"

    @property
    def joint(self) -> str:
        return DRAWS if self.is_stochastic else COVARIANCE

    @property
    def point_estimate(self) -> bool:
        return False

    def check_network(self, inputs: int, network: Network) -> None:
        weights = self._n_uncertain(MLP.of(inputs, network, self.likelihood.outputs))
        if self.curvature == "full" and weights > MAX_FULL_WEIGHTS:
            raise UserError(
                f"method.curvature=full supports at most {MAX_FULL_WEIGHTS} uncertain weights, not "
                f"{weights}; use method.curvature=kronecker, method.last_layer=true or a smaller "
                "network.",
                setting="method.curvature",
            )

    def fit(self, task: FitTask) -> Posterior:
        """Train like `MAP`, then compute the curvature.

        A replica whose curvature overflows float64 counts as diverged.

        Raises:
            UserError: if a full matrix would be too large.
        """
        self.check_network(task.data.inputs.shape[-1], task.network)
        one = task.data.inputs.new_ones(task.data.replicas, 1)
        initial = {name: getattr(self, f"initial_{name}") * one for name in self._by_evidence}
        task = replace(task, hyper={**task.hyper, **initial})
        best = self._round(task)
        hyper = best.hyper
        for _ in range(self.evidence_rounds - 1):
            found = self._round(replace(task, hyper={n: v.to(one) for n, v in hyper.items()}))
            best, hyper = _better(best, found), found.hyper
        inverse = self._structure.invert(best.curvature, best.hyper[PRIOR])
        diverged = best.mode.diverged | _zero_where_not_finite(inverse)
        return replace(
            best.mode,
            state={**best.mode.state, **inverse},
            hyper={name: value.to(one) for name, value in best.hyper.items()},
            diverged=diverged,
            diagnostics={n: v.masked_fill(diverged, math.nan) for n, v in best.diagnostics.items()},
        )

    def _round(self, task: FitTask) -> Round:
        """Find a mode and its curvature, and the precisions that maximise its evidence."""
        mode = super().fit(task)
        collected = self._structure.collect(self._rows(mode, task.data))
        mode = replace(mode, diverged=mode.diverged | _zero_where_not_finite(collected))
        if not self._by_evidence:
            return Round(mode, collected, _double(mode.hyper), {})
        return Round(mode, *self._maximise(mode, task.data, collected))

    def _maximise(
        self, mode: Posterior, data: TrainingSet, collected: State
    ) -> tuple[State, Hyper, dict[str, Tensor]]:
        """Maximise the log marginal likelihood at the mode.

        Returns:
            H and the hyper-parameters (float64) at the maximum, and the diagnostics: the maximum
            and the chosen precisions, `[R]` each.
        """
        hyper, rows = dict(_double(mode.hyper)), mode.counts.double()
        weights = mode.state["loc"][:, -self._n_uncertain(mode.mlp) :].double()
        square = weights.square().sum(1, keepdim=True)
        eigenvalues = self._structure.eigenvalues(collected)
        if NOISE in self._by_evidence:
            per_noise, unit = eigenvalues / hyper[NOISE], {NOISE: torch.ones_like(square)}
            squared_error = -2 * self._log_likelihood(mode, data, unit) - rows * LOG_2PI
            squared_error = squared_error.where(squared_error.isfinite(), rows)
            prior, noise = optimal_precisions(per_noise, square, squared_error, rows)
            collected = scaled(collected, noise / hyper[NOISE])
            hyper, eigenvalues = {**hyper, PRIOR: prior, NOISE: noise}, noise * per_noise
        else:
            hyper[PRIOR] = optimal_prior_precision(eigenvalues, square)
        log_likelihood = self._log_likelihood(mode, data, hyper)
        evidence = log_evidence(log_likelihood, square, eigenvalues, hyper[PRIOR])
        chosen = {f"learned_{name}": hyper[name][:, 0] for name in self._by_evidence}
        return collected, hyper, {"log_evidence": evidence[:, 0], **chosen}

    def _log_likelihood(self, posterior: Posterior, data: TrainingSet, hyper: Hyper) -> Tensor:
        """Return minus the loss of all training rows at the mode, `[R, 1]`."""
        outputs, _ = forward(posterior.mlp, _mode(posterior), data.inputs.double())
        losses = self.likelihood.value(outputs, data.targets.double(), hyper)[0]
        return -(losses * data.real).sum(1, keepdim=True)

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        count = self._n_uncertain(posterior.mlp)
        noise = streams.normal(samples, count).double()
        noise = noise.expand(samples, len(posterior.counts), count)
        weights = self.networks(posterior).repeat(samples, 1, 1)
        weights[:, :, -count:] += self._structure.correlate(posterior.state, noise).to(
            weights.dtype
        )
        return weights

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one mixture component, or one per sample."""
        if self.predictive == "sampled":
            outputs = StochasticMethod.outputs(self, posterior, inputs, samples, streams)
            return self.likelihood.prediction(outputs, posterior.hyper)
        at_mode = super().predict(posterior, inputs, samples, streams)
        variance = [
            self._structure.variance(
                posterior.state, self._uncertain_layers(mean_gradients(posterior, chunk))
            )
            for chunk in torch.split(inputs, _rows_per_chunk(posterior), 1)
        ]
        return replace(at_mode, epistemic=torch.cat(variance, 1)[None])

    def joint_covariance(self, posterior: Posterior, inputs: Tensor) -> Tensor:
        return linearised_covariance(posterior, self.covariance(posterior), inputs)

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        loc = posterior.state["loc"]
        return loc, self.covariance(posterior).diagonal(dim1=1, dim2=2).sqrt().to(loc.dtype)

    def covariance(self, posterior: Posterior) -> Tensor:
        """Return the covariance of the weights, zero for fixed ones; needs twice its memory."""
        count, replicas = self._n_uncertain(posterior.mlp), len(posterior.counts)
        unit = torch.eye(count, dtype=torch.float64, device=posterior.counts.device)
        columns = self._structure.correlate(
            posterior.state, unit[:, None].expand(count, replicas, count).contiguous()
        )
        covariance = torch.einsum("kri,krj->rij", columns, columns)
        fixed = posterior.mlp.n_weights - count
        return pad(covariance, (fixed, 0, fixed, 0))

    def _n_uncertain(self, mlp: MLP) -> int:
        """Return the number of uncertain weights, which are last in the flat vector."""
        return (mlp.sizes[-2] + 1) * mlp.sizes[-1] if self.last_layer else mlp.n_weights

    def _rows(self, posterior: Posterior, data: TrainingSet) -> Iterator[CurvatureRows]:
        """Yield the contributions of the training rows to H, in chunks."""
        hyper, size = _double(posterior.hyper), _rows_per_chunk(posterior)
        chunks = (torch.split(rows, size, 1) for rows in (data.inputs, data.real.double()))
        for inputs, real in zip(*chunks, strict=True):
            outputs, tape = forward(posterior.mlp, _mode(posterior), inputs.double())
            roots = self.likelihood.curvature_roots(outputs, real, hyper)
            yield CurvatureRows(
                real, [self._uncertain_layers(outer_factors(tape, root)) for root in roots]
            )

    def _uncertain_layers(self, layers: list[Layer]) -> list[Layer]:
        return layers[-1:] if self.last_layer else layers


def _better(old: Round, new: Round) -> Round:
    """Return, for each replica, the round with the larger evidence; a diverged one has none."""
    if not new.diagnostics:
        return new
    values = [
        one.diagnostics["log_evidence"]
        .masked_fill(one.mode.diverged, -math.inf)
        .nan_to_num(-math.inf)
        for one in (old, new)
    ]
    better = values[1] > values[0]

    def chosen(old: Mapping[str, Tensor], new: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {n: new[n].where(better.view(-1, *[1] * (new[n].ndim - 1)), old[n]) for n in new}

    mode = replace(
        new.mode,
        state=chosen(old.mode.state, new.mode.state),
        hyper=chosen(old.mode.hyper, new.mode.hyper),
        diverged=new.mode.diverged.where(better, old.mode.diverged),
        trace={n: new.mode.trace[n].where(better, old.mode.trace[n]) for n in new.mode.trace},
    )
    return Round(mode, *(chosen(*pair) for pair in zip(old[1:], new[1:], strict=True)))


def _mode(posterior: Posterior) -> Tensor:
    """Return the MAP networks as one sample, `[1, R, P]` in float64."""
    return posterior.state["loc"][None].double()


def _double(hyper: Hyper) -> Hyper:
    return {name: value.double() for name, value in hyper.items()}


def _rows_per_chunk(posterior: Posterior) -> int:
    """Return how many rows' Jacobians fit into memory at once."""
    return max(1, MAX_ACTIVATIONS // posterior.state["loc"].numel())


def _zero_where_not_finite(state: Mapping[str, Tensor]) -> Tensor:
    """Set non-finite replicas to zero in place, and return which ones they were, `[R]`."""
    # Sums avoid the copy that `isfinite` would make of a full matrix.
    finite = torch.stack([t.flatten(1).sum(1) for t in state.values()]).isfinite().all(0)
    for tensor in state.values():
        tensor[~finite] = 0
    return ~finite
