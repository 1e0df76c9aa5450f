"""Probabilistic backpropagation: assumed density filtering for a network.

Book, section 4.4 and Algorithm 3; Hernández-Lobato & Adams, "Probabilistic Backpropagation for
Scalable Learning of Bayesian Neural Networks", ICML 2015.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from bnnbench.constraints import Count, OneOf
from bnnbench.cpp.library import has_native_code
from bnnbench.methods.shared.contract import FitTask, Method, Posterior, State
from bnnbench.methods.shared.minibatches import in_order, row_order
from bnnbench.methods.shared.moment_propagation import (
    Gamma,
    Inputs,
    Layer,
    Moments,
    Weights,
    forward,
    layers_of,
    linear,
    linear_back,
    match_gamma,
    match_gaussian,
    output_moments,
    pack,
    rectify_back,
)
from bnnbench.methods.shared.trainer import finite, select
from bnnbench.native.passes import NativePropagation, propagated_moments
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction, TrainingSet

GAMMA_PRIOR = (6.0, 6.0)  # shape and rate, for both precisions, in standardised units
MAX_CAVITY_VARIANCE = 1e6  # prior factors with a wider cavity are not refined
CONTIGUOUS = torch.contiguous_format


@dataclass(frozen=True, kw_only=True)
class PBP(Method):
    """Factorised Gaussian posterior, with Gamma posteriors over noise and prior precision.

    Always uses float64. Each pass incorporates every data point once, in a new random order.
    Nothing is searched.

    Attributes:
        prior_update: `ep` refines the prior factors of all weights, one after the other, after each
            pass, as the authors do; `adf` incorporates them only once, at the start.
        batch_size: data points incorporated at once; 1 in the paper. Each point of a batch is
            matched separately with the same q (including skips), and the changes of the natural
            parameters are added: each weight's precision and precision times mean, and `alpha` and
            `beta` of the noise. A sum that is not a proper distribution is skipped.
    """

    identity_name = "bnnbench.methods.pbp.PBP"
    family = "pbp"
    uses_evidence = True
    compared_settings = ("network.depth", "network.width", "training.final_epochs")
    prior_update: Annotated[str, OneOf("ep", "adf")] = "ep"
    batch_size: Count = 1
    is_stochastic: ClassVar[bool] = False
    portable_prediction = True
    native_code = ("_native_passes", ("_torch_passes",))
    variants = ({"prior_update": "adf", "batch_size": 7},)

    @property
    def stack_splits(self) -> bool:
        """True for torch; native code trains one network after the other."""
        return not self.native

    @property
    def native_parts(self) -> tuple[object, ...]:
        return (self,)

    def n_parameters(self, mlp: MLP) -> int:
        return 2 * mlp.n_weights

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """Fit all replicas; one that is not finite after a pass keeps the previous pass."""
        data = replace(
            task.data, inputs=task.data.inputs.double(), targets=task.data.targets.double()
        )
        state = initial_state(task.mlp, data.replicas, task.streams)
        native = self.native and has_native_code(data.inputs, torch.float64)
        run_passes = self._native_passes if native else self._torch_passes
        state, alive = run_passes(replace(task, data=data), state, finite(state))
        counts = data.inputs.new_tensor(data.counts)[:, None]
        return Posterior(state, task.hyper, task.mlp, counts, ~alive)

    def _torch_passes(self, task: FitTask, state: State, alive: Tensor) -> tuple[State, Tensor]:
        """Run all passes; return the final state and which replicas are finite, `[R]`."""
        for _ in range(task.epochs):
            before = state
            state = _pass(task.mlp, state, batches(task.data, task.streams, self.batch_size))
            if self.prior_update == "ep":
                state = refine_prior(state)
            alive = alive & finite(state)
            state = select(alive, state, before)
        return state, alive

    def _native_passes(self, task: FitTask, state: State, alive: Tensor) -> tuple[State, Tensor]:
        """Like `_torch_passes`, equal up to rounding."""
        data, refine = task.data, self.prior_update == "ep"
        state = {name: value.clone(memory_format=CONTIGUOUS) for name, value in state.items()}
        native = NativePropagation(task.mlp, data, self.batch_size, refine, state, alive)
        for _ in range(task.epochs):
            before = {name: value.clone() for name, value in state.items()}
            native.run_pass(row_order(data, task.streams))
            for name, value in state.items():
                value.copy_(torch.where(alive[:, None], value, before[name]))
        return state, alive

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point, without sampling; the noise is `E[1 / gamma]`."""
        mlp, state, inputs = posterior.mlp, posterior.state, inputs.double()
        moments = state["loc"], state["var"]
        if has_native_code(inputs, torch.float64):
            loc, variance = propagated_moments(mlp, *moments, inputs)
        else:
            weights = layers_of(mlp, moments)
            loc, variance = output_moments(
                mlp, inputs, lambda rows: forward(weights, rows, scaled_linear)[0]
            )
        noise = state["noise_beta"] / (state["noise_alpha"] - 1)
        return Prediction(loc[None], variance[None], noise)


def initial_state(mlp: MLP, replicas: int, streams: Streams) -> State:
    """Return the state after incorporating the priors, every tensor `[R, ...]`.

    The means are random, `Normal(0, 1 / (fan_in + 1))`: with zero means, all units of a layer would
    be identical and derivatives would vanish.
    """
    scales = [(fan_in + 1) ** -0.5 for fan_in in mlp.sizes[:-1]]
    scale = mlp.by_layer(scales, torch.float64).to(streams.device)
    loc = (scale * streams.normal(1, mlp.n_weights)[0].double()).expand(replicas, -1).clone()
    alpha, beta = (loc.new_full((replicas, 1), value) for value in GAMMA_PRIOR)
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


def batches(
    data: TrainingSet, streams: Streams, size: int
) -> Sequence[tuple[Tensor, Tensor, Tensor]]:
    """Shuffle the data into batches: inputs `[R, B, D]`, targets and mask of real rows `[R, B]`."""
    inputs, targets = in_order(data, row_order(data, streams))
    tensors = (inputs, targets, data.real)
    return list(zip(*(_split_rows(tensor, size) for tensor in tensors), strict=True))


def _split_rows(rows: Tensor, size: int) -> Sequence[Tensor]:
    """Split `[R, N, ...]` into contiguous `[R, size, ...]`; the last is padded with zeros."""
    padding = -rows.shape[1] % size
    rows = pad(rows, (0, 0) * (rows.dim() - 2) + (0, padding))
    return torch.unflatten(rows, 1, (-1, size)).transpose(0, 1).contiguous().unbind(0)


def _pass(mlp: MLP, state: State, rows: Sequence[tuple[Tensor, Tensor, Tensor]]) -> State:
    weights = layers_of(mlp, (state["loc"], state["var"]))
    noise: Gamma = (state["noise_alpha"], state["noise_beta"])
    for inputs, targets, real in rows:
        weights, noise = incorporate(weights, noise, inputs, targets, real)
    return {**state, **pack(weights), "noise_alpha": noise[0], "noise_beta": noise[1]}


def scaled(inputs: Inputs, moments: Moments) -> Moments:
    """Divide outputs of a layer, or derivatives with respect to them, by `sqrt(I + 1)`."""
    units = inputs[0].shape[-1] + 1
    return moments[0] / math.sqrt(units), moments[1] / units


def scaled_linear(inputs: Inputs, layer: Layer) -> Moments:
    """Return the moments of `z W / sqrt(I + 1)`; the last unit of z is 1 (eqs. 4.41 and 4.42)."""
    return scaled(inputs, linear(inputs, layer))


def linear_weights(inputs: Inputs, layer: Layer, d: Moments) -> Layer:
    """Return derivatives with respect to the moments of weights and biases, for every row.

    Args:
        inputs: of the layer.
        layer: its moments.
        d: derivatives with respect to its outputs before scaling, `[R, B, O]` each.

    Returns:
        `[R, B, I, O]` and `[R, B, 1, O]`, two of each.
    """
    z, z_var = inputs
    d_mean, d_variance = d[0].unsqueeze(2), d[1].unsqueeze(2)
    square, by_mean = z * z, z.unsqueeze(3) * d_mean
    if z_var is not None:
        square = square + z_var
        by_mean = by_mean + 2 * layer[0][0].unsqueeze(1) * (z_var.unsqueeze(3) * d_variance)
    return (by_mean, square.unsqueeze(3) * d_variance), (d_mean, d_variance)


def incorporate(
    weights: Weights, noise: Gamma, inputs: Tensor, targets: Tensor, real: Tensor
) -> tuple[Weights, Gamma]:
    """Incorporate one batch of likelihood factors (eqs. 4.29, 4.30, 4.36, 4.39, 4.40).

    Args:
        weights: moments of each layer.
        noise: Gamma of the noise precision.
        inputs: `[R, B, D]`.
        targets: `[R, B]`.
        real: `[R, B]`, False on padding, which is ignored.
    """
    (loc, variance), tape, rectified = forward(weights, inputs, scaled_linear)
    alpha, beta = noise
    error = targets - loc
    total = variance + beta / (alpha - 1)
    d_loc = error / total
    d_variance = 0.5 * (d_loc * d_loc - 1 / total)
    d: Moments = (d_loc.unsqueeze(2), d_variance.unsqueeze(2))
    new: list[Layer] = []
    for k in range(len(weights) - 1, -1, -1):
        d = scaled(tape[k], d)
        derivatives = linear_weights(tape[k], weights[k], d)
        matrix, bias = (
            match_gaussian(old, by, real[:, :, None, None])
            for old, by in zip(weights[k], derivatives, strict=True)
        )
        new.insert(0, (matrix, bias))
        if k > 0:
            d = rectify_back(rectified[k - 1], linear_back(tape[k], weights[k], d))
    matched = match_gamma(noise, variance, error * error)
    alpha_new, beta_new = (
        old + torch.where(real, value - old, 0.0).sum(1, keepdim=True)
        for old, value in zip(noise, matched, strict=True)
    )
    skip = (alpha_new <= 1) | (beta_new <= 0)  # possible for batches of several points
    return tuple(new), (torch.where(skip, alpha, alpha_new), torch.where(skip, beta, beta_new))


def refine_prior(state: State) -> State:
    """Refine the prior factors of all weights once by EP, in order (book, end of 4.4.2).

    With the Student-t replaced by a Gaussian (eq. 4.23), eqs. 4.36 and 4.39 are the product of two
    Gaussians: a refined factor has mean zero and the precision `(alpha - 1) / beta` of the cavity,
    so only its precision is stored. The Gamma in each weight's cavity depends on the previous
    weights, so weights are processed in sequence, and replicas in parallel.
    """
    names = ("loc", "var", "factor_precision", "factor_alpha", "factor_beta")
    prior: Gamma = (state["prior_alpha"][:, 0], state["prior_beta"][:, 0])
    prior, refined = refine_factors(prior, tuple(state[name].T for name in names))
    return {
        **state,
        **{name: value.T.contiguous() for name, value in zip(names, refined, strict=True)},
        "prior_alpha": prior[0][:, None],
        "prior_beta": prior[1][:, None],
    }


def refine_factors(prior: Gamma, factors: tuple[Tensor, ...]) -> tuple[Gamma, tuple[Tensor, ...]]:
    """Refine K prior factors one after the other.

    Args:
        prior: Gamma of the prior precision, `[R]` each.
        factors: `loc`, `var` and the factor's precision, `alpha` and `beta`, `[K, R]` each.

    Returns:
        The same, refined.
    """
    alpha, beta = prior
    loc, var, precision, factor_alpha, factor_beta = factors
    rest = 1 / var - precision
    valid = (rest > 1 / MAX_CAVITY_VARIANCE) & (var > 0)
    rest = torch.where(valid, rest, 1.0)
    mean = loc / var / rest
    square = mean * mean
    shapes, rates, precisions = [], [], []
    for k, proper in enumerate(valid.unbind()):
        a, b = alpha - factor_alpha[k], beta - factor_beta[k]
        proper = proper & (b > 0) & (a > 1)
        matched = match_gamma((a, b), 1 / rest[k], square[k])
        alpha = torch.where(proper, matched[0], alpha)
        beta = torch.where(proper, matched[1], beta)
        shapes.append(torch.where(proper, alpha - a, factor_alpha[k]))
        rates.append(torch.where(proper, beta - b, factor_beta[k]))
        precisions.append(torch.where(proper, (a - 1) / b, precision[k]))
    shape, rate, new = torch.stack(shapes), torch.stack(rates), torch.stack(precisions)
    var_new = torch.where(valid, 1 / (rest + new), var)
    return (alpha, beta), (
        torch.where(valid, mean * rest * var_new, loc),
        var_new,
        new,
        shape,
        rate,
    )
