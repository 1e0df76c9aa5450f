"""Probabilistic Backpropagation: assumed density filtering through a network.

Book, section 4.4 and Algorithm 3; Hernández-Lobato & Adams, "Probabilistic Backpropagation for
Scalable Learning of Bayesian Neural Networks", ICML 2015.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from bnnbench.methods.base import FitTask, Method, Posterior
from bnnbench.methods.compiled import WORTHWHILE_STEPS, available, compiled
from bnnbench.methods.moments import (
    Inputs,
    Layer,
    Moments,
    Rectified,
    linear,
    linear_back,
    linear_weights,
    rectify,
    rectify_back,
)
from bnnbench.methods.stochastic import PREDICTION_ELEMENTS, State, finite, select, shuffled
from bnnbench.nn import MLP
from bnnbench.settings import one_of, whole
from bnnbench.streams import Streams
from bnnbench.types import Prediction, TrainingSet

Weights = tuple[Layer, ...]
Gamma = tuple[Tensor, Tensor]
"""Shape and rate of a Gamma distribution over a precision, `[R, 1]` each."""

HYPER_PRIOR = (6.0, 6.0)  # of both precisions, in standardised units: six observations' worth
WIDEST_CAVITY = 1e6  # a prior factor is left alone where the rest says less than this of a weight
REFINED_AT_ONCE = 8  # prior factors of one compiled call, which follow one another inside it


@dataclass(frozen=True, kw_only=True)
class PBP(Method):
    """Factorised Gaussian posterior, Gamma posteriors over the noise and the prior precision.

    Always float64. Each pass incorporates every data point once, in a new random order. There is
    nothing to search.

    Attributes:
        prior_update: `ep` refines the prior factor of every weight once after each pass, one
            after the other, as the authors do; `adf` incorporates them at the start and never
            again.
        batch_size: data points incorporated at once. Of a batch, each point's factor is matched
            against the same q and the changes of the natural parameters are added, as if the
            factors had been independent given q; 1 is the algorithm.
        compile: fuse the update with `torch.compile`: `auto` (where a fit is long enough),
            `always` or `never`.
    """

    prior_update: str = "ep"
    batch_size: int = 1
    compile: str = "auto"
    stack_splits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("method.prior_update", self.prior_update, ("ep", "adf"))
        whole("method.batch_size", self.batch_size)
        one_of("method.compile", self.compile, ("auto", "always", "never"))

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """Fits all replicas; one that is not finite after a pass stays at the pass before."""
        data = replace(
            task.data, inputs=task.data.inputs.double(), targets=task.data.targets.double()
        )
        absorb, refine = self._programs(task)
        state = start(task.mlp, data.replicas, task.streams)
        alive = finite(state)
        for _ in range(task.epochs):
            before = state
            rows = batches(data, task.streams, self.batch_size)
            state = _pass(task.mlp, state, rows, absorb)
            if self.prior_update == "ep":
                state = refine_prior(state, refine)
            alive = alive & finite(state)
            state = select(alive, state, before)
        counts = data.inputs.new_tensor(data.counts)[:, None]
        return Posterior(state, task.hyper, task.mlp, counts, ~alive)

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One Gaussian per test point; nothing is sampled. Noise is `E[1 / gamma]`."""
        weights = unpack(posterior.mlp, posterior.state)
        rows = max(1, PREDICTION_ELEMENTS // (inputs.shape[0] * max(posterior.mlp.sizes)))
        pieces = [forward(weights, piece)[0] for piece in inputs.double().split(rows, 1)]
        loc, variance = (torch.cat(moments, 1) for moments in zip(*pieces, strict=True))
        noise = posterior.state["noise_beta"] / (posterior.state["noise_alpha"] - 1)
        return Prediction(loc[None], variance[None], noise)

    def _programs(self, task: FitTask) -> tuple[Any, Any]:
        """The update by a batch of data and that by some prior factors, compiled or not."""
        steps = task.epochs * math.ceil(task.data.inputs.shape[1] / self.batch_size)
        long = task.compile or (steps >= WORTHWHILE_STEPS and available())
        if self.compile == "always" or (self.compile == "auto" and long):
            return compiled(absorb), compiled(refine_factors)
        return absorb, refine_factors


def start(mlp: MLP, replicas: int, streams: Streams) -> State:
    """The state after the priors, every tensor `[R, ...]`.

    The means are random, `Normal(0, 1 / (fan_in + 1))`: at zero, the moments would tell no two
    units of a layer apart and pass no derivative back.
    """
    scale = torch.cat(
        [
            torch.full(((fan_in + 1) * fan_out,), (fan_in + 1) ** -0.5, dtype=torch.float64)
            for fan_in, fan_out in pairwise(mlp.sizes)
        ]
    ).to(streams.device)
    loc = (scale * streams.normal(1, mlp.n_weights)[0].double()).expand(replicas, -1).clone()
    alpha, beta = (loc.new_full((replicas, 1), value) for value in HYPER_PRIOR)
    return {
        "loc": loc,
        "var": (beta / (alpha - 1)).expand_as(loc).clone(),
        "noise_alpha": alpha,
        "noise_beta": beta,
        "prior_alpha": alpha,
        "prior_beta": beta,
        "factor_precision": ((alpha - 1) / beta).expand_as(loc),
        "factor_alpha": torch.zeros_like(loc),
        "factor_beta": torch.zeros_like(loc),
    }


def unpack(mlp: MLP, state: State) -> Weights:
    """The layers of flat `loc` and `var` `[R, P]`, in the order of `MLP`."""
    sizes = list(pairwise(mlp.sizes))
    lengths = [length for fan_in, fan_out in sizes for length in (fan_in * fan_out, fan_out)]
    pieces = list(zip(*(state[name].split(lengths, 1) for name in ("loc", "var")), strict=True))
    shaped = [
        # Contiguous, so that a compiled update meets one layout only.
        tuple(moment.unflatten(1, (-1, sizes[k // 2][1])).contiguous() for moment in piece)
        for k, piece in enumerate(pieces)
    ]
    return tuple(zip(shaped[::2], shaped[1::2], strict=True))  # type: ignore[arg-type]


def pack(weights: Weights) -> State:
    """The inverse of `unpack`."""
    parts = [part for layer in weights for part in layer]
    loc, var = (
        torch.cat([m.flatten(1) for m in moments], 1) for moments in zip(*parts, strict=True)
    )
    return {"loc": loc, "var": var}


def batches(
    data: TrainingSet, streams: Streams, size: int
) -> Sequence[tuple[Tensor, Tensor, Tensor]]:
    """The data in a new order: inputs `[R, B, D]`, targets and real rows `[R, B]`."""
    inputs, targets = shuffled(data, streams)
    counts = torch.tensor(data.counts, device=inputs.device)[:, None]
    real = torch.arange(inputs.shape[1], device=inputs.device) < counts
    pieces = (inputs, targets, real)
    return list(zip(*(_in_turn(piece, size) for piece in pieces), strict=True))


def _in_turn(rows: Tensor, size: int) -> Sequence[Tensor]:
    """`[R, N, ...]` cut into `[R, size, ...]`, each contiguous; zeros fill the last."""
    short = -rows.shape[1] % size
    rows = pad(rows, (0, 0) * (rows.dim() - 2) + (0, short))
    return rows.unflatten(1, (-1, size)).transpose(0, 1).contiguous().unbind(0)


def _pass(
    mlp: MLP, state: State, rows: Sequence[tuple[Tensor, Tensor, Tensor]], absorb: Any
) -> State:
    weights, noise = unpack(mlp, state), (state["noise_alpha"], state["noise_beta"])
    for inputs, targets, real in rows:
        weights, noise = absorb(weights, noise, inputs, targets, real)
    return {**state, **pack(weights), "noise_alpha": noise[0], "noise_beta": noise[1]}


def forward(weights: Weights, inputs: Tensor) -> tuple[Moments, list[Inputs], list[Rectified]]:
    """Sends Gaussians through the network.

    Args:
        weights: the layers.
        inputs: `[R, B, D]`.

    Returns:
        Moments of the output, `[R, B]` each; the input moments of every layer; and the rectified
        moments of every hidden layer.
    """
    tape: list[Inputs] = [(inputs, None)]
    rectified = []
    for layer in weights[:-1]:
        rectified.append(rectify(*linear(tape[-1], layer)))
        tape.append((rectified[-1].mean, rectified[-1].variance))
    loc, variance = linear(tape[-1], weights[-1])
    return (loc.squeeze(2), variance.squeeze(2)), tape, rectified


def absorb(
    weights: Weights, noise: Gamma, inputs: Tensor, targets: Tensor, real: Tensor
) -> tuple[Weights, Gamma]:
    """Incorporates one batch of likelihood factors (eqs. 4.29, 4.30, 4.36, 4.39 and 4.40).

    Args:
        weights: moments of each layer.
        noise: of the noise precision.
        inputs: `[R, B, D]`.
        targets: `[R, B]`.
        real: `[R, B]`, False on padding, which changes nothing.
    """
    (loc, variance), tape, rectified = forward(weights, inputs)
    alpha, beta = noise
    error = targets - loc
    total = variance + beta / (alpha - 1)
    d_loc = error / total
    d_variance = 0.5 * (d_loc * d_loc - 1 / total)
    d: Moments = (d_loc.unsqueeze(2), d_variance.unsqueeze(2))
    new: list[Layer] = []
    for k in range(len(weights) - 1, -1, -1):
        change = linear_weights(tape[k], weights[k], d)
        matrix, bias = (
            _moved(old, by, real[:, :, None, None])
            for old, by in zip(weights[k], change, strict=True)
        )
        new.insert(0, (matrix, bias))
        if k > 0:
            hidden = rectified[k - 1]
            d = rectify_back(hidden, linear_back((hidden.mean, hidden.variance), weights[k], d))
    matched = gamma_matched(noise, variance, error * error)
    alpha, beta = (
        old + torch.where(real, value - old, 0.0).sum(1, keepdim=True)
        for old, value in zip(noise, matched, strict=True)
    )
    return tuple(new), (alpha, beta)


def _moved(weights: Moments, change: Moments, real: Tensor) -> Moments:
    """New moments of a layer's weights (eqs. 4.36 and 4.39).

    An update that would leave a weight without a positive variance is skipped, for that weight.

    Args:
        weights: `[R, I, O]` each.
        change: derivatives of each row's log Z by them, `[R, B, I, O]` each.
        real: `[R, B, 1, 1]`.
    """
    loc, var = weights
    d_loc, d_var = change
    bend = d_loc * d_loc - 2 * d_var
    left = 1 - var.unsqueeze(1) * bend  # new variance over old
    fits = real & (left > 0)
    if d_loc.shape[1] == 1:
        fits, left, d_loc = fits.squeeze(1), left.squeeze(1), d_loc.squeeze(1)
        return torch.where(fits, loc + var * d_loc, loc), torch.where(fits, var * left, var)
    precision = torch.where(fits, bend / left, 0.0).sum(1)
    shift = torch.where(fits, (d_loc + loc.unsqueeze(1) * bend) / left, 0.0).sum(1)
    grown = 1 + var * precision
    fits = grown > 0
    return (
        torch.where(fits, (loc + var * shift) / grown, loc),
        torch.where(fits, var / grown, var),
    )


def gamma_matched(gamma: Gamma, variance: Tensor, square: Tensor) -> Gamma:
    """Matches a Gamma after a factor `Normal(error | 0, variance + 1 / precision)`.

    Eqs. 4.29 and 4.30 in logarithms, which hold where `Z` underflows; `beta` is `alpha` over the
    new mean. The approximation of `Z` can ask for a shape of at most 1, whose `E[1 / precision]`
    does not exist: such an update is skipped.

    Args:
        gamma: `alpha` and `beta`.
        variance: of the error, but for the noise.
        square: squared error.
    """
    alpha, beta = gamma
    v0, v1, v2 = (variance + beta / (alpha - 1 + k) for k in range(3))
    first = 0.5 * (torch.log(v0 / v1) + square * (1 / v0 - 1 / v1))  # log Z1 - log Z0
    second = 0.5 * (torch.log(v1 / v2) + square * (1 / v1 - 1 / v2))
    new = 1 / torch.expm1(second - first + torch.log1p(1 / alpha))
    mean = torch.exp(first) * alpha / beta
    skip = new <= 1  # false for NaN, which must come through
    return torch.where(skip, alpha, new), torch.where(skip, beta, new / mean)


def refine_prior(state: State, refine: Any) -> State:
    """One EP refinement of the prior factor of every weight, in order (book, end of 4.4.2).

    A factor over a weight is always centred, since the weight's mean leaves it only through the
    Gaussian that stands for the Student-t (eq. 4.23): its precision is all there is to keep. The
    Gamma makes the weights follow one another; all replicas go side by side.
    """
    weights = state["loc"].shape[1]
    names = ("loc", "var", "factor_precision", "factor_alpha", "factor_beta")
    short = -weights % REFINED_AT_ONCE
    # Variances of 0 mark the padding of the last piece, which is skipped.
    columns = [pad(state[name], (0, short)).T.contiguous().split(REFINED_AT_ONCE) for name in names]
    prior: Gamma = (state["prior_alpha"][:, 0], state["prior_beta"][:, 0])
    pieces = []
    for piece in zip(*columns, strict=True):
        prior, refined = refine(prior, piece)
        pieces.append(refined)
    joined = [torch.cat(parts)[:weights].T.contiguous() for parts in zip(*pieces, strict=True)]
    return {
        **state,
        **dict(zip(names, joined, strict=True)),
        "prior_alpha": prior[0][:, None],
        "prior_beta": prior[1][:, None],
    }


def refine_factors(prior: Gamma, factors: tuple[Tensor, ...]) -> tuple[Gamma, tuple[Tensor, ...]]:
    """Refines K prior factors one after the other.

    Args:
        prior: of the prior precision, `[R]` each.
        factors: `loc`, `var` and the factor's precision, `alpha` and `beta`, `[K, R]` each.

    Returns:
        The same, refined.
    """
    alpha, beta = prior
    loc, var, precision, factor_alpha, factor_beta = factors
    rest = 1 / var - precision
    valid = (rest > 1 / WIDEST_CAVITY) & (var > 0)
    rest = torch.where(valid, rest, 1.0)
    mean = loc / var / rest
    square = mean * mean
    shapes, rates, precisions = [], [], []
    for k, fits in enumerate(valid.unbind()):
        a, b = alpha - factor_alpha[k], beta - factor_beta[k]
        fits = fits & (b > 0) & (a > 1)
        matched = gamma_matched((a, b), 1 / rest[k], square[k])
        alpha = torch.where(fits, matched[0], alpha)
        beta = torch.where(fits, matched[1], beta)
        shapes.append(torch.where(fits, alpha - a, factor_alpha[k]))
        rates.append(torch.where(fits, beta - b, factor_beta[k]))
        precisions.append(torch.where(fits, (a - 1) / b, precision[k]))
    shape, rate, new = torch.stack(shapes), torch.stack(rates), torch.stack(precisions)
    var_new = torch.where(valid, 1 / (rest + new), var)
    return (alpha, beta), (
        torch.where(valid, mean * rest * var_new, loc),
        var_new,
        new,
        shape,
        rate,
    )
