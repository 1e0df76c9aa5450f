"""How long trajectories are: by the prior alone, or found while chains warm up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.step_size import DECAY

RATE, SECOND, TINY = 0.025, 0.95, 1e-8
"""Of Adam on the log length, without a first moment."""


class Travelled(Protocol):
    """What is told of a transition's trajectories.

    Attributes:
        start: `[C, R, P]`.
        end: `[C, R, P]`, accepted or not.
        velocity: of positions at the end, `[C, R, P]`.
        time: step size times steps, `[C, R]`.
        acceptance: `[C, R]`.
        longest: time that there is for any, `[C, R]`.
    """

    @property
    def start(self) -> Tensor: ...
    @property
    def end(self) -> Tensor: ...
    @property
    def velocity(self) -> Tensor: ...
    @property
    def time(self) -> Tensor: ...
    @property
    def acceptance(self) -> Tensor: ...
    @property
    def longest(self) -> Tensor: ...


class Trajectory(Protocol):
    """How long the next trajectories are to be."""

    def lengths(self, factors: Tensor, uniform: Tensor) -> Tensor:
        """`[C, R]`, given the factors of the energy `[K, C, R]` and uniform numbers `[C, R]`."""

    def adapted(self, travelled: Travelled) -> Self:
        """After a transition of the warm-up."""

    def settled(self) -> Self:
        """For all transitions after the warm-up."""


@dataclass(frozen=True)
class QuarterTurn:
    """Quarters of orbits under a Gaussian prior alone, more or less: `pi / 2` of its deviations.

    Izmailov et al., "What Are Bayesian Neural Network Posteriors Really Like?", ICML 2021: along
    directions that the data say nothing of, the end does not depend on the start. Along those of
    which they say three times as much as the prior it would be the start's mirror image, again and
    again: therefore the jitter, which they do without.

    Attributes:
        jitter: share by which lengths are longer or shorter, uniformly.
        part: place of the prior's factor, its precision; None where its deviation is the unit, as
            it is in the flattest directions of a metric.
        turns: how many quarters.
    """

    jitter: float
    part: int | None = None
    turns: float = 1.0

    def lengths(self, factors: Tensor, uniform: Tensor) -> Tensor:
        unit = torch.ones_like(uniform) if self.part is None else factors[self.part].rsqrt()
        turn = 0.5 * math.pi * self.turns * unit
        return turn * (1 + self.jitter * (2 * uniform - 1))

    def adapted(self, travelled: Travelled) -> QuarterTurn:
        return self

    def settled(self) -> QuarterTurn:
        return self


@dataclass(frozen=True)
class ChEES:
    """The length at which squared distances from the mean change most per trajectory.

    Hoffman, Radul & Sountsov, "An Adaptive-MCMC Scheme for Setting Trajectory Lengths in
    Hamiltonian Monte Carlo", AISTATS 2021. All chains of a replica share a length T, and each
    trajectory takes a uniform share of it. With x and x' the start and the end, centred over the
    chains, v the momentum there, t the time and a the acceptance, Adam climbs

        d / d log T = sum a t (|x'|^2 - |x|^2) x'v / sum a

    Attributes:
        log_length: `[R]`, float64.
        log_average: `[R]`.
        square: of the slope, a running mean, `[R]`.
        updates: so far.
    """

    log_length: Tensor
    log_average: Tensor
    square: Tensor
    updates: int = 0

    @classmethod
    def start(cls, length: Tensor) -> ChEES:
        """From a first length, `[R]`."""
        log_length = length.double().log()
        return cls(log_length, log_length, torch.zeros_like(log_length))

    def lengths(self, factors: Tensor, uniform: Tensor) -> Tensor:
        return self.log_length.exp() * uniform

    def adapted(self, travelled: Travelled) -> ChEES:
        m = self.updates + 1
        slope = _slope(travelled)
        square = torch.lerp(slope.square(), self.square, SECOND)
        step = RATE * slope / ((square / (1 - SECOND**m)).sqrt() + TINY)
        most = travelled.longest.mean(0).log()
        log_length = torch.minimum(self.log_length + step, most)
        log_average = torch.lerp(self.log_average, log_length, m**-DECAY)
        return ChEES(log_length, log_average, square, m)

    def settled(self) -> ChEES:
        return ChEES(self.log_average, self.log_average, self.square, self.updates)


def _slope(travelled: Travelled) -> Tensor:
    """The slope of the criterion in the log length, `[R]`, without what is sure to be rejected."""
    weight = travelled.acceptance
    moved = (weight > 0)[..., None]
    end = torch.where(moved, travelled.end, travelled.start).double()
    velocity = torch.where(moved, travelled.velocity, 0.0).double()
    start = travelled.start.double()
    x, there = (place - place.mean(0) for place in (start, end))
    change = there.square().sum(-1) - x.square().sum(-1)
    each = travelled.time * change * (there * velocity).sum(-1)
    return (weight * each).sum(0) / weight.sum(0).clamp(min=TINY)
