"""Hamiltonian Monte Carlo: many chains, each with a step size and a fate of its own.

    p ~ Normal(0, I);  (w', p') = leapfrogs from (w, p);  accept with min(1, exp(-energy error))

Half of the warm-up finds a metric, if one is asked for; step sizes begin anew with each.

Duane et al. 1987; Neal, "MCMC using Hamiltonian dynamics", 2011. Replicas never influence each
other: numbers of leapfrogs hang on a chain's own step size alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.leapfrog import Flow, energy_error
from bnnbench.methods.shared.hmc.metric import Curvatures, Metric, Windows
from bnnbench.methods.shared.hmc.step_size import DualAveraging, first_size
from bnnbench.methods.shared.hmc.trajectory import Trajectory
from bnnbench.random_streams import Streams

DIVERGENT = 1000.0
"""An energy error above which a trajectory has left the dynamics that it should follow (Stan's)."""

NUMBERS = 4
"""Uniform numbers of each chain in a transition: to accept, to jitter, and two for `Gibbs`."""


@dataclass(frozen=True)
class Schedule:
    """How chains are run.

    Attributes:
        warm_up: transitions in which step sizes are found.
        kept: transitions after that, whose ends are kept.
        acceptance: the mean acceptance probability that the step size is to lead to.
        most: leapfrogs of a trajectory.
    """

    warm_up: int
    kept: int
    acceptance: float = 0.8
    most: int = 1000


class Moved(NamedTuple):
    """One transition.

    Attributes:
        position: `[C, R, P]`, where chains are now.
        parts: of the energy there, `[K, C, R]`.
        acceptance: probability with which the proposal was accepted, `[C, R]`.
        divergent: `[C, R]`.
        start: `[C, R, P]`, where they were.
        end: `[C, R, P]`, where the trajectories led, accepted or not.
        velocity: of the weights there.
        time: that they took, `[C, R]`.
        longest: that they may take, `[C, R]`.
    """

    position: Tensor
    parts: Tensor
    acceptance: Tensor
    divergent: Tensor
    start: Tensor
    end: Tensor
    velocity: Tensor
    time: Tensor
    longest: Tensor


Gibbs = Callable[[Tensor, Tensor, Tensor], Tensor]
"""New factors `[K, C, R]` from old, the parts of the energy and uniform numbers `[C, R, 2]`."""


@dataclass(frozen=True)
class Chains:
    """What is kept of C chains of each of R replicas.

    Attributes:
        draws: `[R, C, K, P]`.
        factors: `[parts, R, C, K]`, float64.
        energies: potential ones, `[R, C, K]`, float64, but for what depends on the factors alone.
        acceptance: mean probability, `[R, C]`.
        divergent: transitions, `[R, C]`.
        step_size: `[R, C]`.
        leapfrogs: of a transition, on average, `[R, C]`.
    """

    draws: Tensor
    factors: Tensor
    energies: Tensor
    acceptance: Tensor
    divergent: Tensor
    step_size: Tensor
    leapfrogs: Tensor


def transition(
    flow: Flow,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    size: Tensor,
    length: Tensor,
    uniform: Tensor,
    most: int,
    metric: Metric | None = None,
) -> Moved:
    """One trajectory of every chain, accepted where `uniform` `[C, R]` says so.

    Args:
        flow: of the density.
        position: `[C, R, P]`.
        momentum: `[C, R, P]`.
        factors: `[K, C, R]`.
        size: of a step, `[C, R]`.
        length: of the trajectories, in time, `[C, R]`: as many steps as it takes.
        uniform: `[C, R]`.
        most: steps.
        metric: of the leapfrogs.
    """
    steps = (length / size).ceil().clamp(1, most).long()
    ended = flow(position, momentum, factors, size, steps, metric)
    error = energy_error(momentum, ended, factors)
    acceptance = (-error).clamp(max=0).exp()
    accepted = uniform < acceptance
    return Moved(
        position=torch.where(accepted[..., None], ended.position, position),
        parts=torch.where(accepted, ended.after, ended.before),
        acceptance=acceptance,
        divergent=error > DIVERGENT,
        start=position,
        end=ended.position,
        velocity=metric(ended.momentum) if metric else ended.momentum,
        time=steps * size,
        longest=most * size,
    )


@torch.no_grad()
def sample(
    flow: Flow,
    position: Tensor,
    factors: Tensor,
    trajectory: Trajectory,
    schedule: Schedule,
    streams: Streams,
    gibbs: Gibbs | None = None,
    curvatures: Curvatures | None = None,
) -> Chains:
    """Runs chains from where they are.

    Args:
        flow: of the density.
        position: `[C, R, P]`.
        factors: `[K, C, R]`, float64.
        trajectory: how long they are.
        schedule: how many transitions and of which kind.
        streams: random numbers; chains of one replica have their own, replicas of a group the same.
        gibbs: draws new factors after every transition; None leaves them.
        curvatures: of which a metric is made; None for identity masses.
    """
    record = Record(position, factors, schedule.kept)
    windows = Windows(curvatures, schedule.warm_up)
    metric: Metric | None = None
    for turn in range(schedule.warm_up + schedule.kept):
        warming = turn < schedule.warm_up
        if windows.closes(turn):
            metric = windows.metric(position, factors)
            first = first_size(flow, position, _momentum(streams, position), factors, metric)
            averaging = DualAveraging.start(first)
        if turn == schedule.warm_up:
            trajectory = trajectory.settled()
        momentum, numbers = _momentum(streams, position), _uniform(streams, position)
        size = (averaging.log_size if warming else averaging.log_average).exp()
        length = trajectory.lengths(factors, numbers[..., 1])
        moved = transition(
            flow, position, momentum, factors, size, length, numbers[..., 0], schedule.most,
            metric,
        )  # fmt: skip
        position = moved.position
        if gibbs:
            factors = gibbs(factors, moved.parts, numbers[..., 2:])
        if warming:
            averaging = averaging.updated(moved.acceptance, schedule.acceptance)
            trajectory = trajectory.adapted(moved)
            windows.saw(turn, position, factors)
        else:
            record.add(moved, factors, size)
    return record.chains(averaging.log_average.exp())


class Record:
    """What is kept of the transitions after the warm-up.

    Args:
        position: `[C, R, P]`, of the first.
        factors: `[K, C, R]`, of the first.
        kept: how many there will be.
    """

    def __init__(self, position: Tensor, factors: Tensor, kept: int) -> None:
        chains, replicas, weights = position.shape
        shape = (replicas, chains, kept)
        self._draws = position.new_empty(*shape, weights)
        self._factors = factors.new_empty(len(factors), *shape)
        self._energies = factors.new_empty(shape)
        self._accepted, self._divergent, self._steps = factors.new_zeros(3, chains, replicas)
        self._taken = 0

    def add(self, moved: Moved, factors: Tensor, size: Tensor) -> None:
        """A transition, the factors drawn after it, and the step size in it."""
        k = self._taken
        self._draws[:, :, k] = moved.position.transpose(0, 1)
        self._factors[..., k] = factors.transpose(1, 2)
        self._energies[..., k] = (factors * moved.parts).sum(0).T
        self._accepted += moved.acceptance
        self._divergent += moved.divergent
        self._steps += moved.time / size
        self._taken += 1

    def chains(self, size: Tensor) -> Chains:
        """All of them, with the step sizes `[C, R]` that they had."""
        return Chains(
            draws=self._draws,
            factors=self._factors,
            energies=self._energies,
            acceptance=self._accepted.T / self._taken,
            divergent=self._divergent.T,
            step_size=size.T,
            leapfrogs=self._steps.T / self._taken,
        )


def _momentum(streams: Streams, like: Tensor) -> Tensor:
    """Standard normal, `[C, R, P]`."""
    chains, replicas, weights = like.shape
    return streams.normal(chains, weights).expand(-1, replicas, -1)


def _uniform(streams: Streams, like: Tensor) -> Tensor:
    """`[C, R, NUMBERS]`, float64."""
    chains, replicas, _ = like.shape
    return streams.uniform(chains, NUMBERS).expand(-1, replicas, -1).double()
