"""The posterior of stacked networks as a target density, and its conjugate precisions.

The energy has two parts: the loss of all rows, and half the squared norm of the weights, whose
factor is the prior precision. For a Gaussian likelihood with one noise precision, the loss is half
the sum of squared errors, and the noise precision is its factor; otherwise its factor is 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from bnnbench.likelihoods import Gaussian, Likelihood
from bnnbench.losses import NLL
from bnnbench.methods.shared.hmc.leapfrog import (
    Integrator,
    LeapfrogResult,
    Target,
    leapfrog,
)
from bnnbench.native.networks import has_native_gradients, replaced_part
from bnnbench.native.trajectories import leapfrog_trajectories
from bnnbench.nn import MLP, backward, forward
from bnnbench.optim import adam_on, adam_state
from bnnbench.settings import Training
from bnnbench.types import Hyper, TrainingSet

LOSS, PRIOR = 0, 1
"""Indices of the two parts."""

UNIFORM_OFFSET = 2.0**-25
"""Half the spacing of uniform numbers, added to avoid the quantile of zero."""


def has_conjugate_noise(likelihood: Likelihood) -> bool:
    """Return whether the noise precision is a factor of the loss, and so conjugate to a Gamma."""
    known = isinstance(likelihood, Gaussian) and isinstance(likelihood.loss, NLL)
    return known and replaced_part(likelihood, likelihood.loss) is None


def with_unit_noise(likelihood: Likelihood, hyper: Hyper, like: Tensor) -> Hyper:
    """Return `hyper`, or a noise precision of 1 if the noise precision is a factor of the loss."""
    return {"noise_precision": like.new_ones(1, 1)} if has_conjugate_noise(likelihood) else hyper


def posterior_integrator(
    mlp: MLP, likelihood: Likelihood, data: TrainingSet, hyper: Hyper
) -> Integrator:
    """Return the integrator for the posterior of networks, in native code if available."""
    if not has_native_gradients(likelihood, data.inputs):
        return partial(leapfrog, posterior_target(mlp, likelihood, data, hyper))

    return lambda position, momentum, factors, size, steps, metric: LeapfrogResult(
        *leapfrog_trajectories(
            mlp, likelihood, data, position, momentum, factors, size, steps,
            metric.flat() if metric else None,
        )
    )  # fmt: skip


def posterior_target(mlp: MLP, likelihood: Likelihood, data: TrainingSet, hyper: Hyper) -> Target:
    """Return the posterior density, computed by torch.

    Args:
        mlp: shape of the networks.
        likelihood: with its loss.
        data: R training sets.
        hyper: `[R, 1]` each; only used if the noise precision is not a factor of the loss.
    """
    inputs, targets = data.inputs, data.targets
    real = data.real.to(inputs.dtype)
    conjugate, unit = has_conjugate_noise(likelihood), with_unit_noise(likelihood, hyper, inputs)

    def target(weights: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
        outputs, tape = forward(mlp, weights, inputs)
        if conjugate:
            values = 0.5 * (outputs.squeeze(3) - targets).square()
        else:
            values = likelihood.value(outputs, targets, unit)
        loss = (real * values).sum(2, dtype=torch.float64)
        squares = 0.5 * weights.double().square().sum(2)
        gradient = backward(tape, likelihood.gradient(outputs, targets, real, unit))
        loss_factor, prior = factors.to(weights.dtype)[..., None].unbind()
        return torch.stack([loss, squares]), torch.addcmul(prior * weights, loss_factor, gradient)

    return target


@dataclass(frozen=True)
class PrecisionPrior:
    """A Gamma prior over a precision that is a factor of the energy.

    Attributes:
        part: index of the factor.
        shape: of the prior.
        rate: of the prior.
        count: `[R]`, number of Gaussian variables with this precision: rows, or weights.
    """

    part: int
    shape: float
    rate: float
    count: Tensor

    def sample(self, parts: Tensor, uniform: Tensor) -> Tensor:
        """Sample from `Gamma(shape + count / 2, rate + E)` by inverse transform.

        Args:
            parts: of the energy, `[K, C, R]`.
            uniform: `[C, R]`, on [0, 1).

        Returns:
            `[C, R]`, float64.
        """
        from scipy.special import gammaincinv

        shape = (self.shape + 0.5 * self.count.double()).expand_as(uniform).cpu().numpy()
        quantile = torch.from_numpy(gammaincinv(shape, uniform.cpu().numpy() + UNIFORM_OFFSET))
        rate = self.rate + parts[self.part].nan_to_num(0, 0, 0)
        return quantile.to(rate.device) / rate


@torch.no_grad()
def map_estimate(
    target: Target, position: Tensor, factors: Tensor, steps: int, training: Training
) -> Tensor:
    """Minimise the potential energy by `steps` steps of Adam.

    Args:
        target: the density.
        position: initial positions, `[C, R, P]`.
        factors: `[2, C, R]`.
        steps: number of steps.
        training: learning rate and betas.

    Returns:
        `[C, R, P]`; the initial position of a chain whose result is not finite.
    """
    state = adam_state("loc", position)
    for step in range(1, steps + 1):
        _, gradient = target(state["loc"], factors)
        first, second = (position.new_tensor(1 / (1 - beta**step)) for beta in training.betas)
        state = adam_on("loc", state, gradient, (first, second), training)
    return torch.where(state["loc"].isfinite().all(-1, keepdim=True), state["loc"], position)
