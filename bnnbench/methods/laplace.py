"""The Laplace approximation: a Gaussian around the MAP network, as wide as the loss is flat.

Lecture, Álvarez, "Approximate inference for neural networks"; MacKay, "A Practical Bayesian
Framework for Backpropagation Networks", Neural Computation 1992; Ritter, Botev & Barber, "A
Scalable Laplace Approximation for Neural Networks", ICLR 2018 (Kronecker factors); Daxberger et
al., "Laplace Redux", NeurIPS 2021 (last layer, linearised predictive).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from bnnbench.checks import check_between, check_bool, check_choice
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gauss_newton import CURVATURES, Curvature, Rows
from bnnbench.methods.shared.gaussian import GaussianMethod
from bnnbench.methods.shared.pieces import PREDICTION_ELEMENTS
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.nn import MLP, Layer, forward, outer_factors
from bnnbench.optim import Rule
from bnnbench.random_streams import Streams
from bnnbench.settings import Network
from bnnbench.types import Hyper, Prediction, TrainingSet, UserError

FULL_WEIGHTS = 2000  # a matrix of 32 MB and some seconds, for every network of a stack
PRIOR_PRECISIONS = (1e-6, 1e6)  # between which the marginal likelihood chooses
HALVINGS = 60  # of that range's logarithm: to the last digits of a float64


@dataclass(frozen=True, kw_only=True)
class Laplace(GaussianMethod, MAP):
    """`Normal(w*, (H + prior_precision I)^-1)` around the network `w*` that `MAP` finds.

    `H = sum_n J_n' C_n J_n` is the Gauss-Newton matrix of the summed loss at `w*`: the lecture's
    expected Hessian with the network linear in its weights, so that it is exact for a linear
    model. `J_n` is the Jacobian of the outputs at training point n, `C_n` the loss's expected
    second derivatives there; with `likelihood=gaussian` and `loss=nll` it is the noise precision.

    Predictives, at an input whose mean output has the gradient `g` at `w*`:

        linearised   Normal(f(x, w*), g' (H + prior_precision I)^-1 g + noise)
        sampled      the mixture of networks with weights drawn from the posterior

    The linearised one is that of the model that the approximation is made for (`f` linear in the
    weights); the sampled one puts weights that are off by as much into the network itself, and
    where few rows leave many weights free, it is known to be far worse than `w*` alone (Immer,
    Korzepa & Bauer, "Improving Predictions of Bayesian Neural Nets via Local Linearization",
    AISTATS 2021). Where the network predicts the noise too, the linearised noise is that of `w*`.

    Attributes:
        curvature: what is kept of H: its `diagonal`, one `kronecker` product per layer, or `full`.
        last_layer: whether the weights before the output layer are held at `w*`, as if known.
        predictive: `linearised` or `sampled`.
        prior_precision_by: `search` takes the hyper-parameter; `marginal_likelihood` takes the
            most probable value after training (`most_probable_prior`), without moving `w*`.
        initial_prior_precision: in training, where the marginal likelihood chooses afterwards.
    """

    curvature: str = "kronecker"
    last_layer: bool = False
    predictive: str = "linearised"
    prior_precision_by: str = "search"
    initial_prior_precision: float = 1.0
    variants: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"curvature": "full", "predictive": "sampled"},
        {"curvature": "diagonal", "last_layer": True, "predictive": "sampled"},
        {"prior_precision_by": "marginal_likelihood", "predictive": "sampled"},
    )

    def __post_init__(self) -> None:
        check_choice("method.curvature", self.curvature, tuple(CURVATURES))
        check_bool("method.last_layer", self.last_layer)
        check_choice("method.predictive", self.predictive, ("linearised", "sampled"))
        ways = ("search", "marginal_likelihood")
        check_choice("method.prior_precision_by", self.prior_precision_by, ways)
        check_between("method.initial_prior_precision", self.initial_prior_precision, 0)
        super().__post_init__()
        if self.prior_precision is not None and not self._searched:
            raise UserError(
                f"method.prior_precision={self.prior_precision!r} does not go with "
                "method.prior_precision_by=marginal_likelihood, which chooses it."
            )

    @property
    def _searched(self) -> bool:
        return self.prior_precision_by == "search"

    @property
    def _structure(self) -> Curvature:
        return CURVATURES[self.curvature]

    @property
    def hyper_names(self) -> tuple[str, ...]:
        names = super().hyper_names
        return names if self._searched else tuple(n for n in names if n != "prior_precision")

    @property
    def draws(self) -> bool:
        return self.predictive == "sampled"

    @property
    def point_estimate(self) -> bool:
        return False

    def check(self, inputs: int, network: Network) -> None:
        weights = self._uncertain(MLP.of(inputs, network, self.likelihood.outputs))
        if self.curvature == "full" and weights > FULL_WEIGHTS:
            raise UserError(
                f"method.curvature=full takes at most {FULL_WEIGHTS} uncertain weights, not "
                f"{weights}; use method.curvature=kronecker, method.last_layer=true or a smaller "
                "network."
            )

    def rule(self) -> Rule | None:
        return super().rule()

    def fit(self, task: FitTask) -> Posterior:
        """Trains as `MAP` does and adds the curvature.

        A replica whose curvature is too large for float64 counts as diverged.

        Raises:
            UserError: if a full matrix would be too large.
        """
        self.check(task.data.inputs.shape[-1], task.network)
        if not self._searched:
            start = task.data.inputs.new_full((task.data.replicas, 1), self.initial_prior_precision)
            task = replace(task, hyper={**task.hyper, "prior_precision": start})
        found = super().fit(task)
        collected = self._structure.collect(self._rows(found, task.data))
        too_large = _zero_where_not_finite(collected)
        prior = found.hyper["prior_precision"].double()
        if not self._searched:
            square = self._own(found).square().sum(1, keepdim=True)
            prior = most_probable_prior(self._structure.eigenvalues(collected), square)
        kept = self._structure.invert(collected, prior)
        not_inverted = _zero_where_not_finite(kept)
        return replace(
            found,
            state={**found.state, **kept},
            hyper={**found.hyper, "prior_precision": prior.to(found.counts.dtype)},
            diverged=found.diverged | too_large | not_inverted,
        )

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        own = self._uncertain(posterior.mlp)
        noise = streams.normal(samples, own).double().expand(samples, len(posterior.counts), own)
        weights = self.networks(posterior).repeat(samples, 1, 1)
        weights[:, :, -own:] += self._structure.spread(posterior.state, noise).to(weights.dtype)
        return weights

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One component, or one per sample."""
        if self.predictive == "sampled":
            return StochasticMethod.predict(self, posterior, inputs, samples, streams)
        at_mode = MAP.predict(self, posterior, inputs, samples, streams)
        variance = [
            self._structure.variance(posterior.state, self._gradients(posterior, piece))
            for piece in inputs.split(_rows_at_once(posterior), 1)
        ]
        return replace(at_mode, epistemic=torch.cat(variance, 1)[None])

    def moments(self, posterior: Posterior) -> tuple[Tensor, Tensor]:
        loc = posterior.state["loc"]
        return loc, self.covariance(posterior).diagonal(dim1=1, dim2=2).sqrt().to(loc.dtype)

    def covariance(self, posterior: Posterior) -> Tensor:
        """Zero for weights that are held; P networks' worth of memory more than its own."""
        own, replicas = self._uncertain(posterior.mlp), len(posterior.counts)
        unit = torch.eye(own, dtype=torch.float64, device=posterior.counts.device)
        columns = self._structure.spread(
            posterior.state, unit[:, None].expand(own, replicas, own).contiguous()
        )
        covariance = torch.einsum("kri,krj->rij", columns, columns)
        held = posterior.mlp.n_weights - own
        return pad(covariance, (held, 0, held, 0))

    def log_evidence(self, posterior: Posterior, data: TrainingSet) -> Tensor:
        """Laplace's estimate of the log marginal likelihood of the training set, `[R]`, nats.

            -sum_n loss_n + (P log prior - prior ||w*||^2 - log det(H + prior I)) / 2

        over the P uncertain weights (Bishop, "Pattern Recognition and Machine Learning", eq.
        5.175). Exact for a linear model at its mode.

        Args:
            posterior: from `fit`.
            data: what it was fitted to.
        """
        own, prior = self._own(posterior), posterior.hyper["prior_precision"].double()
        loss = torch.zeros_like(prior[:, 0])
        for inputs, targets, real in _pieces(posterior, data):
            outputs, _ = forward(posterior.mlp, _mode(posterior), inputs.double())
            values = self.likelihood.value(outputs, targets.double(), _double(posterior.hyper))
            loss = loss + (values[0] * real).sum(1)
        complexity = own.shape[1] * prior.log() - prior * own.square().sum(1, keepdim=True)
        return 0.5 * (complexity - self._structure.log_det(posterior.state))[:, 0] - loss

    def _uncertain(self, mlp: MLP) -> int:
        """The number of weights that the posterior is over, the last ones of the flat vector."""
        return (mlp.sizes[-2] + 1) * mlp.sizes[-1] if self.last_layer else mlp.n_weights

    def _own(self, posterior: Posterior) -> Tensor:
        """The uncertain weights at the mode, `[R, P]`."""
        return posterior.state["loc"][:, -self._uncertain(posterior.mlp) :].double()

    def _rows(self, posterior: Posterior, data: TrainingSet) -> Iterator[Rows]:
        """The training rows through the roots of their curvature, a few at a time."""
        hyper = _double(posterior.hyper)
        for inputs, _, real in _pieces(posterior, data):
            outputs, tape = forward(posterior.mlp, _mode(posterior), inputs.double())
            roots = self.likelihood.curvature_roots(outputs, real, hyper)
            yield Rows(real, [self._covered(outer_factors(tape, root)) for root in roots])

    def _gradients(self, posterior: Posterior, inputs: Tensor) -> list[Layer]:
        """Of the first output, the mean, at inputs `[R, B, D]`."""
        outputs, tape = forward(posterior.mlp, _mode(posterior), inputs.double())
        d_outputs = torch.zeros_like(outputs)
        d_outputs[..., 0] = 1
        return self._covered(outer_factors(tape, d_outputs))

    def _covered(self, layers: list[Layer]) -> list[Layer]:
        return layers[-1:] if self.last_layer else layers


def most_probable_prior(eigenvalues: Tensor, square: Tensor) -> Tensor:
    """The prior precision with the highest log evidence, weights and curvature held, `[R, 1]`.

    There `prior ||w||^2` is the number of weights that the data determine (MacKay 1992; Bishop,
    "Pattern Recognition and Machine Learning", eqs. 3.91 and 3.92):

        prior ||w||^2 = sum_i lambda_i / (lambda_i + prior)

    The left side rises with the prior and the right side falls, so there is one solution, found
    by bisection of `log prior`; beyond `PRIOR_PRECISIONS`, the nearer end.

    Args:
        eigenvalues: `lambda`, of the loss's curvature, `[R, P]`.
        square: `||w||^2`, `[R, 1]`.
    """
    low, high = (torch.full_like(square, math.log(end)) for end in PRIOR_PRECISIONS)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        prior = middle.exp()
        determined = (eigenvalues / (eigenvalues + prior)).sum(1, keepdim=True)
        rises = determined > prior * square
        low, high = torch.where(rises, middle, low), torch.where(rises, high, middle)
    return ((low + high) / 2).exp()


def _mode(posterior: Posterior) -> Tensor:
    """The MAP networks as one sample, `[1, R, P]` in float64."""
    return posterior.state["loc"][None].double()


def _double(hyper: Hyper) -> Hyper:
    return {name: value.double() for name, value in hyper.items()}


def _rows_at_once(posterior: Posterior) -> int:
    """Rows whose Jacobians of all replicas fit into what prediction may hold."""
    return max(1, PREDICTION_ELEMENTS // posterior.state["loc"].numel())


def _pieces(posterior: Posterior, data: TrainingSet) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Inputs, targets and real rows (float64: 1 or 0), a few rows of every replica at a time."""
    rows = torch.arange(data.inputs.shape[1], device=data.inputs.device)
    real = (rows < posterior.counts).double()
    size = _rows_at_once(posterior)
    parts = (part.split(size, 1) for part in (data.inputs, data.targets, real))
    return zip(*parts, strict=True)


def _zero_where_not_finite(state: Mapping[str, Tensor]) -> Tensor:
    """`[R]`: whether anything of a replica was not finite; all of it is zero now, in place."""
    # By sums: `isfinite` of a matrix over all weights would first make a copy of it.
    finite = torch.stack([t.flatten(1).sum(1) for t in state.values()]).isfinite().all(0)
    for tensor in state.values():
        tensor[~finite] = 0
    return ~finite
