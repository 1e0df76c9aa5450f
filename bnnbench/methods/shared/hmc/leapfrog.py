"""Leapfrog integration of Hamiltonian dynamics for stacked chains.

Neal, "MCMC using Hamiltonian dynamics", *Handbook of Markov Chain Monte Carlo*, 2011, sections 2.3
and 3.2, with the identity or a `EuclideanMetric` as mass matrix. C chains of each of R replicas are
`[C, R, P]`. The potential energy, minus the log density, is a sum of K parts with constant factors:

    U(w) = factor_1 E_1(w) + ... + factor_K E_K(w)

For the posterior of a network, E_1 is half the sum of squared errors, with the noise precision as
its factor, and E_2 half the squared norm of the weights, with the prior precision as its factor.
The change of each part is computed separately, to avoid cancellation between parts of different
magnitude.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.metric import EuclideanMetric

Target = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Maps positions `[C, R, P]` and factors `[K, C, R]` to energy parts and gradients.

The parts `E_k` are `[K, C, R]` in float64, without their factors; the gradient of U is `[C, R, P]`.
"""


class LeapfrogResult(NamedTuple):
    """The ends of trajectories, and the energy parts at both ends.

    Attributes:
        position: at the end, `[C, R, P]`.
        momentum: at the end, `[C, R, P]`.
        before: energy parts at the start, `[K, C, R]`, float64.
        after: energy parts at the end, `[K, C, R]`, float64.
    """

    position: Tensor
    momentum: Tensor
    before: Tensor
    after: Tensor


Integrator = Callable[
    [Tensor, Tensor, Tensor, Tensor, Tensor, EuclideanMetric | None], LeapfrogResult
]
"""Function of positions, momenta, factors, step sizes, numbers of steps and a metric.

The torch integrator for a density is `partial(leapfrog, target)`.
"""


def leapfrog(
    target: Target,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    size: Tensor,
    steps: Tensor,
    metric: EuclideanMetric | None = None,
) -> LeapfrogResult:
    """Integrate all chains in lockstep; a chain that has finished its steps no longer moves.

    Args:
        target: the density.
        position: `[C, R, P]`.
        momentum: `[C, R, P]`.
        factors: `[K, C, R]`.
        size: step size, `[C, R]`.
        steps: number of steps, `[C, R]`, at least one.
        metric: B, which multiplies momenta and gradients; None for the identity.
    """
    scaled = metric or (lambda vectors: vectors)
    before, gradient = target(position, factors)
    after = before
    for steps_taken in range(int(steps.max().cpu())):  # waits for the device
        step = torch.where(steps_taken < steps, size, 0.0)[..., None].to(position.dtype)
        momentum = torch.addcmul(momentum, step, scaled(gradient), value=-0.5)
        position = torch.addcmul(position, step, scaled(momentum))
        after, gradient = target(position, factors)
        momentum = torch.addcmul(momentum, step, scaled(gradient), value=-0.5)
    return LeapfrogResult(position, momentum, before, after)


def kinetic_energy(momentum: Tensor) -> Tensor:
    """Return `|p|^2 / 2` for momenta `[C, R, P]`, float64 `[C, R]`."""
    return 0.5 * momentum.double().square().sum(-1)


def energy_error(momentum: Tensor, result: LeapfrogResult, factors: Tensor) -> Tensor:
    """Return the change in total energy over trajectories, float64 `[C, R]`; NaN becomes infinity.

    Args:
        momentum: initial momenta, `[C, R, P]`.
        result: the ends of the trajectories.
        factors: `[K, C, R]`.
    """
    potential = (factors.double() * (result.after - result.before)).sum(0)
    error = potential + (kinetic_energy(result.momentum) - kinetic_energy(momentum))
    return error.nan_to_num(torch.inf, torch.inf, -torch.inf)
