"""Hamiltonian Monte Carlo: many chains, each with a step size and a fate of its own.

    p ~ Normal(0, I);  (w', p') = leapfrogs from (w, p);  accept with min(1, exp(-energy error))

Duane et al. 1987; Neal, "MCMC using Hamiltonian dynamics", 2011. Replicas never influence each
other: numbers of leapfrogs hang on a chain's own step size alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.leapfrog import Ended, Flow, energy_error
from bnnbench.methods.shared.hmc.step_size import DualAveraging, first_size
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
        jitter: lengths are those wanted times a uniform number of 1 ± jitter.
        most: leapfrogs of a trajectory.
    """

    warm_up: int
    kept: int
    acceptance: float = 0.8
    jitter: float = 0.5
    most: int = 1000


class Moved(NamedTuple):
    """One transition.

    Attributes:
        position: `[C, R, P]`, where chains are now.
        parts: of the energy there, `[K, C, R]`.
        acceptance: probability with which the proposal was accepted, `[C, R]`.
        divergent: `[C, R]`.
        ended: where the trajectories led, accepted or not.
    """

    position: Tensor
    parts: Tensor
    acceptance: Tensor
    divergent: Tensor
    ended: Ended


Gibbs = Callable[[Tensor, Tensor, Tensor], Tensor]
"""New factors `[K, C, R]` from old, the parts of the energy and uniform numbers `[C, R, 2]`."""

Length = Callable[[Tensor], Tensor]
"""How long trajectories should be, `[C, R]`, from the factors."""


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
    steps: Tensor,
    uniform: Tensor,
) -> Moved:
    """One trajectory of every chain, accepted where `uniform` `[C, R]` says so."""
    ended = flow(position, momentum, factors, size, steps)
    error = energy_error(momentum, ended, factors)
    acceptance = (-error).clamp(max=0).exp()
    accepted = uniform < acceptance
    position = torch.where(accepted[..., None], ended.position, position)
    parts = torch.where(accepted, ended.after, ended.before)
    return Moved(position, parts, acceptance, error > DIVERGENT, ended)


@torch.no_grad()
def sample(
    flow: Flow,
    position: Tensor,
    factors: Tensor,
    length: Length,
    schedule: Schedule,
    streams: Streams,
    gibbs: Gibbs | None = None,
) -> Chains:
    """Runs chains from where they are.

    Args:
        flow: of the density.
        position: `[C, R, P]`.
        factors: `[K, C, R]`, float64.
        length: of the trajectories.
        schedule: how many transitions and of which kind.
        streams: random numbers; chains of one replica have their own, replicas of a group the same.
        gibbs: draws new factors after every transition; None leaves them.
    """
    chains, replicas, weights = position.shape
    shape = (replicas, chains, schedule.kept)
    draws = position.new_empty(*shape, weights)
    kept_factors = factors.new_empty(len(factors), *shape)
    energies = factors.new_empty(shape)
    sums = {name: factors.new_zeros(chains, replicas) for name in ("accepted", "lost", "steps")}
    first = first_size(flow, position, _momentum(streams, position), factors)
    averaging = DualAveraging.start(first)
    for turn in range(schedule.warm_up + schedule.kept):
        warming = turn < schedule.warm_up
        momentum = _momentum(streams, position)
        numbers = streams.uniform(chains, NUMBERS).expand(-1, replicas, -1).double()
        wanted = length(factors) * (1 + schedule.jitter * (2 * numbers[..., 1] - 1))
        size = (averaging.log_size if warming else averaging.log_average).exp()
        steps = (wanted / size).ceil().clamp(1, schedule.most).long()
        moved = transition(flow, position, momentum, factors, size, steps, numbers[..., 0])
        position = moved.position
        if warming:
            averaging = averaging.updated(moved.acceptance, schedule.acceptance)
        if gibbs:
            factors = gibbs(factors, moved.parts, numbers[..., 2:])
        if not warming:
            k = turn - schedule.warm_up
            draws[:, :, k] = position.transpose(0, 1)
            kept_factors[..., k] = factors.transpose(1, 2)
            energies[..., k] = (factors * moved.parts).sum(0).T
            for name, value in zip(sums, (moved.acceptance, moved.divergent, steps), strict=True):
                sums[name] += value
    mean = {name: total.T / schedule.kept for name, total in sums.items()}
    size = averaging.log_average.exp().T
    divergent = sums["lost"].T
    return Chains(draws, kept_factors, energies, mean["accepted"], divergent, size, mean["steps"])


def _momentum(streams: Streams, like: Tensor) -> Tensor:
    """Standard normal, `[C, R, P]`."""
    chains, replicas, weights = like.shape
    return streams.normal(chains, weights).expand(-1, replicas, -1)


def quarter_turn(precision: Tensor) -> Tensor:
    """`pi / 2` standard deviations of the prior: a quarter of its orbits.

    Izmailov et al., "What Are Bayesian Neural Network Posteriors Really Like?", ICML 2021, section
    3: along directions that the data say nothing of, the end is independent of the start.

    Args:
        precision: of the prior, of any shape.
    """
    return 0.5 * math.pi * precision.rsqrt()
