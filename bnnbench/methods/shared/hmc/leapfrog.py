"""Trajectories of Hamiltonian dynamics by leapfrogs, for stacked chains.

Neal, "MCMC using Hamiltonian dynamics", *Handbook of Markov Chain Monte Carlo*, 2011, sections 2.3
and 3.2; identity masses, or those of a `Metric`. C chains of each of R replicas are `[C, R, P]`,
and a chain's potential energy, minus its log density, is a sum of K parts, each with a factor that
moves leave alone:

    U(w) = factor_1 E_1(w) + ... + factor_K E_K(w)

In a network's posterior E_1 is half a sum of squared errors and its factor the noise precision, E_2
half the squared length of the weights and its factor the prior precision. The parts are kept apart,
so that what a proposal changes of each is a difference of two numbers of its own size.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.metric import Metric

Target = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""From positions `[C, R, P]` and factors `[K, C, R]` to parts and slopes.

The parts `E_k` are `[K, C, R]` in float64, without their factors; the gradient of U is `[C, R, P]`.
"""


class Ended(NamedTuple):
    """Where trajectories ended, and the parts of the energy at both ends.

    Attributes:
        position: `[C, R, P]`.
        momentum: `[C, R, P]`.
        before: `[K, C, R]`, float64.
        after: `[K, C, R]`, float64.
    """

    position: Tensor
    momentum: Tensor
    before: Tensor
    after: Tensor


Flow = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, Metric | None], Ended]
"""From positions, momenta, factors, step sizes, numbers of steps and a metric to their ends."""


def flow_of(target: Target) -> Flow:
    """The flow of a density that torch evaluates."""
    return partial(leapfrog, target)


def leapfrog(
    target: Target,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    size: Tensor,
    steps: Tensor,
    metric: Metric | None = None,
) -> Ended:
    """As many leapfrogs of each chain as it wants, all chains in lockstep.

    A chain that is there before the others stays where it is.

    Args:
        target: the density.
        position: `[C, R, P]`.
        momentum: `[C, R, P]`.
        factors: `[K, C, R]`.
        size: of a step, `[C, R]`.
        steps: whole numbers, `[C, R]`, at least one.
        metric: B, by which momenta and slopes are taken; None for the identity.
    """
    shaped = metric or (lambda vectors: vectors)
    before, gradient = target(position, factors)
    after = before
    for taken in range(int(steps.max())):
        step = torch.where(taken < steps, size, 0.0)[..., None].to(position.dtype)
        momentum = torch.addcmul(momentum, step, shaped(gradient), value=-0.5)
        position = torch.addcmul(position, step, shaped(momentum))
        after, gradient = target(position, factors)
        momentum = torch.addcmul(momentum, step, shaped(gradient), value=-0.5)
    return Ended(position, momentum, before, after)


def kinetic_energy(momentum: Tensor) -> Tensor:
    """`|p|^2 / 2` of `[C, R, P]`, float64 `[C, R]`."""
    return 0.5 * momentum.double().square().sum(-1)


def energy_error(start: Tensor, ended: Ended, factors: Tensor) -> Tensor:
    """What trajectories added to the total energy, each part by itself, float64 `[C, R]`.

    Args:
        start: the momenta at their start, `[C, R, P]`.
        ended: where they led.
        factors: `[K, C, R]`.

    Returns:
        Infinite where it is not a number.
    """
    potential = (factors.double() * (ended.after - ended.before)).sum(0)
    error = potential + (kinetic_energy(ended.momentum) - kinetic_energy(start))
    return error.nan_to_num(torch.inf, torch.inf, -torch.inf)
