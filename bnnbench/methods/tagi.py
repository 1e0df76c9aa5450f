"""TAGI: analytic inference by Gaussian conditioning, without gradients of a loss.

Goulet, Nguyen & Amiri, "Tractable Approximate Gaussian Inference for Bayesian Neural Networks",
JMLR 2021. With predicted noise (TAGI-V): Deka, Nguyen & Goulet, "Analytically tractable
heteroscedastic uncertainty quantification in Bayesian neural networks for regression tasks",
Neurocomputing 2024. Reference program: lhnguyen102/cuTAGI.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from operator import mul
from typing import Annotated, ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Between, Positive
from bnnbench.cpp.library import has_native_code
from bnnbench.identity import optional_identity
from bnnbench.methods.shared.contract import FitTask, Method, Posterior, State
from bnnbench.methods.shared.minibatches import in_order, row_order
from bnnbench.methods.shared.moment_propagation import (
    Inputs,
    Layer,
    Moments,
    Weights,
    layers_of,
    linear,
    output_moments,
    pack,
)
from bnnbench.methods.shared.trainer import finite, select
from bnnbench.native.passes import NativeConditioning, linearised_moments
from bnnbench.nn import MLP
from bnnbench.portable_math import tensor_exp
from bnnbench.random_streams import Streams
from bnnbench.types import Hyper, Prediction, TrainingSet

RESET_VARIANCE = 1e-5  # of a weight whose variance would be negative


@dataclass(frozen=True, kw_only=True)
class TAGI(Method):
    """Factorised Gaussian posterior, conditioned on one minibatch after another.

    Forward, ReLUs are linearised at the mean: `max(a, 0)` has the variance of `a` where its mean is
    positive, and none elsewhere. The output is conditioned on `y ~ Normal(output, noise)`, then
    hidden units and weights by the Rauch-Tung-Striebel equations. All rows of a minibatch update
    the same prior, and their changes are added. No mean or variance changes by more than the
    weight's standard deviation (a tenth of it from 100 rows on, a twentieth from 500 on), as in the
    reference program at commit 8c63560, which gave the published scores. Added changes can make a
    variance negative. That program then goes on with it; we reset it as the program does since
    commit 945cb01.

    Every epoch conditions on all targets once more, so variances shrink with the number of epochs.
    The number of epochs therefore acts as a hyper-parameter.

    Attributes:
        noise_precision: of the observations, standardised units; None is searched.
        predicts_noise: whether a second output predicts the logarithm of the noise variance
            (TAGI-V). Nothing is searched then.
        output_gain: factor on the initial variance of the weights of the mean output, as published;
            the reference program at commit 8c63560 has it on all layers.
        noise_gain: factor on the initial variance of the weights of the noise output, and on the
            variance with which their means are drawn.
        with_replacement: whether an epoch of N rows visits N rows drawn with replacement, as in the
            reference program, and not all rows in random order. That program also ends each epoch
            with the rows after the last full minibatch.
        repeat_noise_gain: whether to multiply by `noise_gain` once more for each weight, as the
            reference program does, so that all but the first few are almost zero.
    """

    identity_name = "bnnbench.methods.tagi.TAGI"
    family = "tagi"
    compared_settings = (
        *("network.depth", "network.width", "training.final_epochs"),
        *("training.batch_size", "search"),
    )
    noise_precision: Annotated[float | None, Between(0)] = None
    predicts_noise: bool = False
    output_gain: Positive = 1.0
    noise_gain: Positive = 1.0
    repeat_noise_gain: bool = True
    with_replacement: bool = optional_identity(False)
    is_stochastic: ClassVar[bool] = False
    portable_prediction = True
    native_code = ("_native_passes", ("_torch_passes",))
    variants = ({"predicts_noise": True, "noise_gain": 0.1}, {"with_replacement": True})

    @property
    def stack_splits(self) -> bool:
        """True for torch; native code trains one network after the other."""
        return not self.native

    @property
    def native_parts(self) -> tuple[object, ...]:
        return (self,)

    @property
    def hyper_names(self) -> tuple[str, ...]:
        return () if self.predicts_noise else ("noise_precision",)

    def n_parameters(self, mlp: MLP) -> int:
        return 2 * mlp.n_weights

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """Fit all replicas; one that is not finite after an epoch keeps the previous epoch."""
        task = replace(task, outputs=1 + self.predicts_noise)
        state = self._initial_state(task)
        shape = (task.data.replicas, task.mlp.n_weights)
        native = (
            self.native
            and has_native_code(task.data.inputs, task.data.inputs.dtype)
            and all(value.shape == shape for value in state.values())
        )
        run_passes = self._native_passes if native else self._torch_passes
        state, alive = run_passes(task, state, finite(state))
        counts = task.data.inputs.new_tensor(task.data.counts)[:, None]
        return Posterior(state, task.hyper, task.mlp, counts, ~alive)

    def _torch_passes(self, task: FitTask, state: State, alive: Tensor) -> tuple[State, Tensor]:
        """Run all passes; return the final state and which replicas are finite, `[R]`."""
        limit, real = max_change(task.batch_size), torch.split(task.data.real, task.batch_size, 1)
        for _ in range(task.epochs):
            before, layers = state, layers_of(task.mlp, (state["loc"], state["var"]))
            visited = in_order(task.data, self._visited_rows(task))
            rows = (torch.split(part, task.batch_size, 1) for part in visited)
            for inputs, targets, mask in zip(*rows, real, strict=True):
                output, tape = forward(layers, inputs)
                change = self._condition(output, targets, task.hyper)
                layers = update(layers, tape, [part * mask[:, :, None] for part in change], limit)
            state = pack(layers)
            alive = alive & finite(state)
            state = select(alive, state, before)
        return state, alive

    def _native_passes(self, task: FitTask, state: State, alive: Tensor) -> tuple[State, Tensor]:
        """Like `_torch_passes`, equal up to rounding."""
        contiguous = torch.contiguous_format  # a subclass may return another layout
        state = {name: value.clone(memory_format=contiguous) for name, value in state.items()}
        native = NativeConditioning(
            task.mlp,
            task.data,
            task.batch_size,
            None if self.predicts_noise else 1 / task.hyper["noise_precision"],
            max_change(task.batch_size),
            state,
            alive,
        )
        for _ in range(task.epochs):
            before = {name: value.clone() for name, value in state.items()}
            native.run_pass(self._visited_rows(task))
            for name, value in state.items():
                value.copy_(torch.where(alive[:, None], value, before[name]))
        return state, alive

    def _visited_rows(self, task: FitTask) -> Tensor:
        """Draw the rows that an epoch visits, in order, `[R, N]`."""
        draw = drawn_rows if self.with_replacement else row_order
        return draw(task.data, task.streams)

    def _initial_state(self, task: FitTask) -> State:
        """Return means drawn with variance `1 / fan_in`, and that variance times the gains."""
        mlp = task.mlp
        scales = [
            torch.full((a + 1, b), a**-0.5, dtype=torch.float32, device="cpu")
            for a, b in pairwise(mlp.sizes)
        ]
        gains = [torch.ones_like(scale) for scale in scales]
        gains[-1][:-1, 0] = self.output_gain
        if self.predicts_noise:
            factors = [math.sqrt(self.noise_gain)] * (len(scales[-1]) - 1)
            products = accumulate(factors, mul) if self.repeat_noise_gain else factors
            scales[-1][:-1, 1] *= torch.tensor([*products], dtype=torch.float32, device="cpu")
        scale, gain = (
            torch.cat([layer.flatten() for layer in layers]).to(task.data.inputs)
            for layers in (scales, gains)
        )
        loc = scale * task.streams.normal(1, mlp.n_weights)[0].to(scale)
        size = task.data.replicas, mlp.n_weights
        return {
            "loc": loc.expand(size).clone(),
            "var": (gain * scale.square()).expand(size).clone(),
        }

    def _condition(self, output: Moments, targets: Tensor, hyper: Hyper) -> Moments:
        """Return the change of the outputs' moments given the targets, `[R, B, O]` each.

        The mean's is divided by the prior variance and the variance's by its square, so that they
        are the precision-weighted residual and minus the precision of the prediction.
        """
        loc, var = output
        noise = self._noise(output, hyper)
        precision = 1 / (var[..., 0] + noise)
        residual = (targets - loc[..., 0]) * precision
        if not self.predicts_noise:
            return residual[..., None], -precision[..., None]
        # The noise v ~ Normal(0, noise) given the target, its square, and the square's prior.
        v_loc, v_var = noise * residual, noise - noise.square() * precision
        noise_var = noise.square() * torch.expm1(var[..., 1])
        square_var = 3 * noise_var + 2 * noise.square()
        gain = noise / square_var
        by_loc = gain * (v_loc.square() + v_var - noise)
        posterior_var = 2 * v_var.square() + 4 * v_loc.square() * v_var
        by_var = gain.square() * (posterior_var - square_var)
        return torch.stack([residual, by_loc], 2), torch.stack([-precision, by_var], 2)

    def _noise(
        self, output: Moments, hyper: Hyper, exp: Callable[[Tensor], Tensor] = torch.exp
    ) -> Tensor:
        """Return the mean noise variance, `[R, B]` or `[R, 1]`: `E[exp(output)]` if predicted."""
        if not self.predicts_noise:
            return 1 / hyper["noise_precision"]
        return exp(output[0][..., 1] + 0.5 * output[1][..., 1])

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point, without sampling."""
        native = has_native_code(inputs, inputs.dtype)
        mlp, moments = posterior.mlp, (posterior.state["loc"], posterior.state["var"])
        if native:
            output = linearised_moments(mlp, *moments, inputs)
        else:
            layers = layers_of(mlp, moments)
            output = output_moments(mlp, inputs, lambda rows: forward(layers, rows)[0])
        loc, var = output
        noise = self._noise(output, posterior.hyper, tensor_exp if native else torch.exp)
        return Prediction(loc[None, ..., 0], var[None, ..., 0], noise)


def drawn_rows(data: TrainingSet, streams: Streams) -> Tensor:
    """Return N rows of every replica, drawn with replacement, `[R, N]`."""
    keys = streams.uniform(1, data.inputs.shape[1])[0].expand(data.replicas, -1).double()
    return (keys * torch.tensor(data.counts, device=keys.device)[:, None]).long()


def max_change(batch_size: int) -> float:
    """Return the largest change of a moment, in standard deviations of the weight."""
    return 1.0 if batch_size < 100 else 0.1 if batch_size < 500 else 0.05


def forward(layers: Weights, inputs: Tensor) -> tuple[Moments, list[Inputs]]:
    """Return the moments of the outputs, `[R, B, O]`, and of the inputs of every layer."""
    tape: list[Inputs] = [(inputs, None)]
    for layer in layers[:-1]:
        loc, var = linear(tape[-1], layer)
        tape.append((loc.relu(), var * (loc > 0)))
    return linear(tape[-1], layers[-1]), tape


def update(layers: Weights, tape: list[Inputs], change: Sequence[Tensor], limit: float) -> Weights:
    """Condition all weights on the changed outputs.

    Args:
        layers: the prior.
        tape: moments of the inputs of every layer.
        change: of the outputs' means and variances over the prior variance and its square,
            `[R, B, O]` each; 0 on padding.
        limit: largest change of a moment, in standard deviations.
    """
    by_loc, by_var = change
    new: list[Layer] = []
    for (inputs, _), (weights, bias) in zip(reversed(tape), reversed(layers), strict=True):
        ones = inputs.new_ones(1, 1, inputs.shape[1]).expand(len(inputs), -1, -1)
        new.append(
            (
                moved(weights, (inputs.mT @ by_loc, inputs.square().mT @ by_var), limit),
                moved(bias, (ones @ by_loc, ones @ by_var), limit),
            )
        )
        if len(new) < len(layers):
            active = inputs > 0
            by_loc = active * (by_loc @ weights[0].mT)
            by_var = active * (by_var @ weights[0].square().mT)
    return new[::-1]


def moved(prior: Moments, change: Moments, limit: float) -> Moments:
    """Return the moments after a change, given over the prior variance and its square."""
    loc, var = prior
    largest = limit * var.sqrt()
    by_loc = (var * change[0]).clamp(-largest, largest)
    by_var = (var.square() * change[1]).clamp(-largest, largest)
    new = var + by_var
    return loc + by_loc, torch.where(new < 0, RESET_VARIANCE, new)
