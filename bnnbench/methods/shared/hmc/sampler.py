"""Hamiltonian Monte Carlo for many chains, each with its own step size.

    p ~ Normal(0, I);  (w', p') = leapfrogs from (w, p);  accept with min(1, exp(-energy error))

If requested, the metric is adapted during the first half of the warm-up; step-size adaptation
restarts with each new metric.

Duane et al. 1987; Neal, "MCMC using Hamiltonian dynamics", 2011. Replicas never influence each
other: the number of leapfrogs depends only on a chain's own step size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.adaptation import (
    DualAveraging,
    TrajectoryLength,
    Transition,
    initial_step_size,
)
from bnnbench.methods.shared.hmc.leapfrog import Integrator, energy_error
from bnnbench.methods.shared.hmc.metric import Curvatures, EuclideanMetric, MetricAdaptation
from bnnbench.random_streams import Streams

MAX_ENERGY_ERROR = 1000.0
"""A trajectory with a larger energy error is divergent (Stan's threshold)."""

N_UNIFORMS = 4
"""Uniform numbers per chain and transition: one for acceptance, one for jitter, two for Gibbs."""


@dataclass(frozen=True)
class ChainSchedule:
    """Length of the chains, and targets of the adaptation.

    Attributes:
        warm_up: transitions for adaptation, whose ends are discarded.
        draws: transitions after that, whose ends are kept.
        target_acceptance: mean acceptance probability that step sizes are adapted to.
        max_leapfrogs: per trajectory.
    """

    warm_up: int
    draws: int
    target_acceptance: float = 0.8
    max_leapfrogs: int = 1000


GibbsStep = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Function of factors `[K, C, R]`, energy parts and uniform numbers `[C, R, 2]`: new factors."""


@dataclass(frozen=True)
class Chains:
    """K draws of each of C chains of each of R replicas.

    Attributes:
        draws: `[R, C, K, P]`.
        factors: `[parts, R, C, K]`, float64.
        energies: potential energies without terms that depend on the factors only, `[R, C, K]`,
            float64.
        acceptance: mean acceptance probability, `[R, C]`.
        divergent: number of divergent transitions, `[R, C]`.
        step_size: `[R, C]`.
        leapfrogs: mean number per transition, `[R, C]`.
    """

    draws: Tensor
    factors: Tensor
    energies: Tensor
    acceptance: Tensor
    divergent: Tensor
    step_size: Tensor
    leapfrogs: Tensor


def transition(
    integrator: Integrator,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    size: Tensor,
    length: Tensor,
    uniform: Tensor,
    max_leapfrogs: int,
    metric: EuclideanMetric | None = None,
) -> Transition:
    """Simulate and accept or reject one trajectory of every chain.

    Args:
        integrator: of the density.
        position: `[C, R, P]`.
        momentum: `[C, R, P]`.
        factors: `[K, C, R]`.
        size: step size, `[C, R]`.
        length: integration time, `[C, R]`.
        uniform: uniform numbers for the acceptance test, `[C, R]`.
        max_leapfrogs: maximum number of steps.
        metric: of the leapfrogs.
    """
    steps = (length / size).ceil().clamp(1, max_leapfrogs).long()
    result = integrator(position, momentum, factors, size, steps, metric)
    error = energy_error(momentum, result, factors)
    acceptance = (-error).clamp(max=0).exp()
    accepted = uniform < acceptance
    return Transition(
        position=torch.where(accepted[..., None], result.position, position),
        parts=torch.where(accepted, result.after, result.before),
        acceptance=acceptance,
        divergent=error > MAX_ENERGY_ERROR,
        start=position,
        end=result.position,
        velocity=metric(result.momentum) if metric else result.momentum,
        time=steps * size,
        max_time=max_leapfrogs * size,
    )


@torch.no_grad()
def sample(
    integrator: Integrator,
    position: Tensor,
    factors: Tensor,
    trajectory: TrajectoryLength,
    schedule: ChainSchedule,
    streams: Streams,
    gibbs: GibbsStep | None = None,
    curvatures: Curvatures | None = None,
) -> Chains:
    """Run chains from the given positions.

    Args:
        integrator: of the density.
        position: initial positions, `[C, R, P]`.
        factors: initial factors, `[K, C, R]`, float64.
        trajectory: integration times.
        schedule: number of transitions, and adaptation targets.
        streams: random numbers, different for the chains of a replica, shared by the replicas of a
            group.
        gibbs: draws new factors after every transition; None keeps them.
        curvatures: used to estimate a metric; None for the identity.
    """
    recorder = DrawRecorder(position, factors, schedule.draws)
    adaptation = MetricAdaptation(curvatures, schedule.warm_up)
    metric: EuclideanMetric | None = None
    for k in range(schedule.warm_up + schedule.draws):
        warming_up = k < schedule.warm_up
        if adaptation.starts_window(k):
            metric = adaptation.metric(position, factors)
            momentum = _momentum(streams, position)
            first = initial_step_size(integrator, position, momentum, factors, metric)
            averaging = DualAveraging.from_step_size(first)
        if k == schedule.warm_up:
            trajectory = trajectory.after_warm_up()
        momentum, uniform = _momentum(streams, position), _uniform(streams, position)
        size = (averaging.log_size if warming_up else averaging.log_average).exp()
        length = trajectory.lengths(factors, uniform[..., 1])
        result = transition(
            integrator, position, momentum, factors, size, length, uniform[..., 0],
            schedule.max_leapfrogs, metric,
        )  # fmt: skip
        position = result.position
        if gibbs:
            factors = gibbs(factors, result.parts, uniform[..., 2:])
        if warming_up:
            averaging = averaging.updated(result.acceptance, schedule.target_acceptance)
            trajectory = trajectory.updated(result)
            adaptation.record(k, position, factors)
        else:
            recorder.add(result, factors, size)
    return recorder.chains(averaging.log_average.exp())


class DrawRecorder:
    """Collects the transitions after the warm-up.

    Args:
        position: example of positions, `[C, R, P]`.
        factors: example of factors, `[K, C, R]`.
        draws: number of transitions.
    """

    def __init__(self, position: Tensor, factors: Tensor, draws: int) -> None:
        chains, replicas, weights = position.shape
        shape = (replicas, chains, draws)
        self._draws = position.new_empty(*shape, weights)
        self._factors = factors.new_empty(len(factors), *shape)
        self._energies = factors.new_empty(shape)
        self._accepted, self._divergent, self._steps = factors.new_zeros(3, chains, replicas)
        self._count = 0

    def add(self, result: Transition, factors: Tensor, size: Tensor) -> None:
        """Add a transition, the factors drawn after it, and its step size."""
        k = self._count
        self._draws[:, :, k] = result.position.transpose(0, 1)
        self._factors[..., k] = factors.transpose(1, 2)
        self._energies[..., k] = (factors * result.parts).sum(0).T
        self._accepted += result.acceptance
        self._divergent += result.divergent
        self._steps += result.time / size
        self._count += 1

    def chains(self, size: Tensor) -> Chains:
        """Return all draws, with the step sizes `[C, R]` used for them."""
        return Chains(
            draws=self._draws,
            factors=self._factors,
            energies=self._energies,
            acceptance=self._accepted.T / self._count,
            divergent=self._divergent.T,
            step_size=size.T,
            leapfrogs=self._steps.T / self._count,
        )


def _momentum(streams: Streams, like: Tensor) -> Tensor:
    """Draw standard normal momenta, `[C, R, P]`."""
    chains, replicas, weights = like.shape
    return streams.normal(chains, weights).expand(-1, replicas, -1)


def _uniform(streams: Streams, like: Tensor) -> Tensor:
    """Draw uniform numbers, `[C, R, N_UNIFORMS]`, float64."""
    chains, replicas, _ = like.shape
    return streams.uniform(chains, N_UNIFORMS).expand(-1, replicas, -1).double()
