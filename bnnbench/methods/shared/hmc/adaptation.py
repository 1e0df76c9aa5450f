"""Step sizes and integration times of trajectories, which the warm-up can adapt.

The step size is that of each chain: Hoffman & Gelman, "The No-U-Turn Sampler", JMLR 2014: algorithm
4 for the initial size, then algorithm 5 (Nesterov's dual averaging). Integration times follow from
the prior's precision, or are adapted too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.leapfrog import Integrator, energy_error
from bnnbench.methods.shared.hmc.metric import EuclideanMetric

T0, GAMMA, KAPPA = 10.0, 0.05, 0.75
"""Constants of dual averaging, as in the paper."""

MAX_DOUBLINGS = 60
"""Maximum number of doublings or halvings of the initial size."""


@dataclass(frozen=True)
class DualAveraging:
    """State of dual averaging after m updates, float64 `[C, R]` each.

    Attributes:
        anchor: mu of the paper, the logarithm of ten times the initial size.
        shortfall: H of the paper, a running mean of target minus actual acceptance.
        log_size: log step size of the next transition.
        log_average: log step size after the warm-up.
        updates: m.
    """

    anchor: Tensor
    shortfall: Tensor
    log_size: Tensor
    log_average: Tensor
    updates: int = 0

    @classmethod
    def from_step_size(cls, size: Tensor) -> DualAveraging:
        """Start from an initial step size, `[C, R]`."""
        log_size = size.double().log()
        return cls(log_size + math.log(10), torch.zeros_like(log_size), log_size, log_size)

    def updated(self, acceptance: Tensor, target: float) -> DualAveraging:
        """Update with the acceptance probabilities `[C, R]` of a transition."""
        m = self.updates + 1
        shortfall = torch.lerp(self.shortfall, target - acceptance, 1 / (m + T0))
        log_size = self.anchor - math.sqrt(m) / GAMMA * shortfall
        log_average = torch.lerp(self.log_average, log_size, m**-KAPPA)
        return DualAveraging(self.anchor, shortfall, log_size, log_average, m)


def initial_step_size(
    integrator: Integrator,
    position: Tensor,
    momentum: Tensor,
    factors: Tensor,
    metric: EuclideanMetric | None = None,
    guess: float = 0.1,
) -> Tensor:
    """Return step sizes `[C, R]` whose acceptance probability for one leapfrog is about 1/2.

    The size is doubled or halved until the probability crosses 1/2.

    Args:
        integrator: of the density.
        position: `[C, R, P]`.
        momentum: `[C, R, P]`, the same for every size.
        factors: `[K, C, R]`.
        metric: of the leapfrogs.
        guess: the first size tried.
    """
    size = position.new_full(position.shape[:2], guess, dtype=torch.float64)
    one = torch.ones_like(size, dtype=torch.int64)

    def is_accepted(size: Tensor) -> Tensor:
        result = integrator(position, momentum, factors, size, one, metric)
        return energy_error(momentum, result, factors) < math.log(2)

    grow = is_accepted(size)
    factor = torch.where(grow, 2.0, 0.5).double()
    active = torch.ones_like(grow)
    for _ in range(MAX_DOUBLINGS):
        size = torch.where(active, size * factor, size)
        active = active & (is_accepted(size) == grow)
        if not active.any().cpu():
            break
    return size


LEARNING_RATE, BETA_2, EPSILON = 0.025, 0.95, 1e-8
"""Settings of Adam on the log length, without a first moment."""


class Transition(NamedTuple):
    """One transition of every chain.

    Attributes:
        position: new positions, `[C, R, P]`.
        parts: energy parts at the new positions, `[K, C, R]`.
        acceptance: acceptance probability, `[C, R]`.
        divergent: `[C, R]`.
        start: old positions, `[C, R, P]`.
        end: ends of the trajectories, accepted or not, `[C, R, P]`.
        velocity: of the weights at the ends, `[C, R, P]`.
        time: integration time, `[C, R]`.
        max_time: maximum integration time, `[C, R]`.
    """

    position: Tensor
    parts: Tensor
    acceptance: Tensor
    divergent: Tensor
    start: Tensor
    end: Tensor
    velocity: Tensor
    time: Tensor
    max_time: Tensor


class TrajectoryLength(Protocol):
    """A rule for the integration times of trajectories."""

    def lengths(self, factors: Tensor, uniform: Tensor) -> Tensor:
        """Return integration times `[C, R]`.

        Args:
            factors: of the energy, `[K, C, R]`.
            uniform: uniform numbers, `[C, R]`.
        """

    def updated(self, transition: Transition) -> Self:
        """Return the rule adapted to a transition of the warm-up."""

    def after_warm_up(self) -> Self:
        """Return the rule for the transitions after the warm-up."""


@dataclass(frozen=True)
class QuarterPeriods:
    """Multiples of a quarter period under the Gaussian prior, `pi / 2` of its deviation.

    Izmailov et al., "What Are Bayesian Neural Network Posteriors Really Like?", ICML 2021: along
    directions on which the data are uninformative, the end does not depend on the start. Along
    directions whose precision is four times that of the prior, the end would always mirror the
    start; unlike the paper, we therefore jitter the lengths.

    Attributes:
        jitter: relative half-width of the uniform jitter.
        part: index of the prior precision among the factors; None if the prior deviation is 1, as
            in the flattest directions of a metric.
        quarter_periods: number of quarter periods.
    """

    jitter: float
    part: int | None = None
    quarter_periods: float = 1.0

    def lengths(self, factors: Tensor, uniform: Tensor) -> Tensor:
        unit = torch.ones_like(uniform) if self.part is None else factors[self.part].rsqrt()
        length = 0.5 * math.pi * self.quarter_periods * unit
        return length * (1 + self.jitter * (2 * uniform - 1))

    def updated(self, transition: Transition) -> QuarterPeriods:
        return self

    def after_warm_up(self) -> QuarterPeriods:
        return self


@dataclass(frozen=True)
class ChEES:
    """Adapts the length to maximise the change in squared distances from the mean.

    Hoffman, Radul & Sountsov, "An Adaptive-MCMC Scheme for Setting Trajectory Lengths in
    Hamiltonian Monte Carlo", AISTATS 2021. All chains of a replica share a length T, and each
    trajectory takes a uniform fraction of it. With x and x' the start and the end, centred over the
    chains, v the momentum at the end, t the time and a the acceptance, Adam ascends the gradient

        d / d log T = sum a t (|x'|^2 - |x|^2) x'v / sum a

    Attributes:
        log_length: `[R]`, float64.
        log_average: `[R]`.
        square: running mean of the squared gradient, `[R]`.
        updates: number of updates.
    """

    log_length: Tensor
    log_average: Tensor
    square: Tensor
    updates: int = 0

    @classmethod
    def from_length(cls, length: Tensor) -> ChEES:
        """Start from an initial length, `[R]`."""
        log_length = length.double().log()
        return cls(log_length, log_length, torch.zeros_like(log_length))

    def lengths(self, factors: Tensor, uniform: Tensor) -> Tensor:
        return self.log_length.exp() * uniform

    def updated(self, transition: Transition) -> ChEES:
        m = self.updates + 1
        gradient = _gradient(transition)
        square = torch.lerp(gradient.square(), self.square, BETA_2)
        step = LEARNING_RATE * gradient / ((square / (1 - BETA_2**m)).sqrt() + EPSILON)
        max_log_length = transition.max_time.mean(0).log()
        log_length = torch.minimum(self.log_length + step, max_log_length)
        log_average = torch.lerp(self.log_average, log_length, m**-KAPPA)
        return ChEES(log_length, log_average, square, m)

    def after_warm_up(self) -> ChEES:
        return ChEES(self.log_average, self.log_average, self.square, self.updates)


def _gradient(transition: Transition) -> Tensor:
    """Return the gradient of the criterion with respect to the log length, `[R]`."""
    weight = transition.acceptance
    acceptable = (weight > 0)[..., None]  # the ends of other trajectories need not be finite
    end = torch.where(acceptable, transition.end, transition.start).double()
    velocity = torch.where(acceptable, transition.velocity, 0.0).double()
    start = transition.start.double()
    centred_start, centred_end = (x - x.mean(0) for x in (start, end))
    change = centred_end.square().sum(-1) - centred_start.square().sum(-1)
    gradients = transition.time * change * (centred_end * velocity).sum(-1)
    return (weight * gradients).sum(0) / weight.sum(0).clamp(min=EPSILON)
