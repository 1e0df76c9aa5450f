"""Alternating training of a density-ratio estimator and a generator, with detection of failures."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor

from bnnbench.experiment.kinds.resumable_stack import Log, Repetition, ResumableStack, State
from bnnbench.optim import Adam
from bnnbench.suites.lam_density_ratio.names import DIVERGED, NOT_FINITE, OK, STUCK
from bnnbench.suites.lam_density_ratio.networks import Architecture, Parameters, initial_weights
from bnnbench.suites.lam_density_ratio.objectives import STUCK_LOSS, Objective
from bnnbench.suites.lam_density_ratio.schedule import Schedule

STUCK_TOLERANCE, STUCK_STEPS, STUCK_SHARE = 1e-3, 500, 0.9
"""An estimator is stuck if, in this share of its last steps, its loss is within the tolerance of
`STUCK_LOSS`, or of its negative, the loss of a ratio that is infinite on all draws of q."""

DIVERGED_FACTOR = 1.5
"""A pair has diverged if its last score is above this many times that of its untrained start, or
not a number.

It is then worse than a generator that learned nothing, and its average KL has no upper limit, so
that one repetition may decide the mean of all. The factor keeps runs of a few iterations, whose
scores still rise by chance. The limit is known before the result and far from the scores of other
repetitions: on the sprinkler, 30 untrained generators score 6.6 to 10.2 nats, draws from the prior
2.7, and the exact posterior 1.3.

The rule does not catch a repetition that ends between the score of draws from the prior and the
limit: it counts in the means. On images, a decoder that returns the mean image for every input
stays below the limit.
"""


@dataclass(frozen=True)
class Replica(Repetition):
    """One repetition of one configuration, which starts from the weights of its number.

    Attributes:
        objective: the losses; no random number depends on them.
    """

    objective: Objective


class TrainedNetwork:
    """Replicas of one network with their gradient and optimiser.

    Args:
        architecture: layer sizes.
        name: of the random streams of the initial weights.
        replicas: the replicas.
        like: a tensor with the device and type of the weights.
    """

    def __init__(
        self, architecture: Architecture, name: str, replicas: Sequence[Replica], like: Tensor
    ) -> None:
        initial = [initial_weights(architecture, replica.seed_for(name)) for replica in replicas]
        flat = torch.stack(initial).to(like)
        self.parameters = Parameters(architecture, flat)
        self.gradient = self.parameters.zeros_like()
        self.adam = Adam(flat)

    def update(self, rate: float, active: Tensor) -> None:
        """Take one step with the current gradient."""
        self.adam.step(self.gradient.flat, rate, active)


@dataclass
class TrainingLog(Log):
    """Training history and status of one pair.

    Rows of the curve have the iteration, the scores, the estimator's loss and the NELBO.

    Attributes:
        untrained: score before the first step; infinite if it is unknown.
        status: `ok`, or the kind of failure.
        failed_at: iteration of the failure; 0 also for a failure in pre-training.
        stuck: whether each of the last `STUCK_STEPS` steps had the loss of a stuck estimator.
        estimator_loss: loss of the estimator in the last iteration.
        nelbo: negative ELBO of the last iteration.
    """

    untrained: float = math.inf
    status: str = OK
    failed_at: int | None = None
    stuck: list[bool] = field(default_factory=list)
    estimator_loss: float = math.nan
    nelbo: float = math.nan


class Adversaries(ResumableStack[TrainingLog]):
    """`R` pairs of an estimator and a generator; a step is an iteration, counted from 0.

    A pair that fails is frozen: its weights stay fixed, its curve ends, and other pairs are not
    affected. It is never restarted, as in the thesis's programs.

    A pair has diverged if its last score is above `DIVERGED_FACTOR` times that of its start.

    Args:
        replicas: the pairs, those with the same objective adjacent.
        schedule: numbers of steps, and learning rates.
        like: a tensor with the device and type of the weights.

    Attributes:
        networks: class attribute, the names of the attributes with the trained networks.
        score: class attribute, the score of an evaluation that training lowers.
        active: `[R, 1]`, 1, or 0 for pairs that are not updated any more.
    """

    networks: ClassVar[tuple[str, ...]]
    score: ClassVar[str]

    def __init__(self, replicas: Sequence[Replica], schedule: Schedule, like: Tensor) -> None:
        super().__init__([TrainingLog() for _ in replicas])
        self.replicas, self._schedule = tuple(replicas), schedule
        self.active = like.new_ones(len(replicas), 1)

    @abstractmethod
    def estimator_steps(self, count: int, rate: float) -> Tensor:
        """Train the estimators; return the loss before each step, `[count, R]`."""

    @abstractmethod
    def generator_step(self, rate: float) -> Tensor:
        """Take one step of the generators; return the loss before it, `[R]`."""

    @abstractmethod
    def evaluate(self, iteration: int) -> dict[str, Tensor]:
        """Return scores of the generators by name, `[R]` each."""

    def start(self) -> None:
        """Pre-train the estimator."""
        for log, score in zip(self.logs, self.evaluate(0)[self.score].tolist(), strict=True):
            log.untrained = score
        schedule = self._schedule
        losses = self.estimator_steps(schedule.pretraining_steps, schedule.estimator_rate)
        self._detect_failures(losses, None)

    def is_over(self) -> bool:
        """Whether every pair has failed."""
        return all(log.status != OK for log in self.logs)

    def take_step(self) -> None:
        """Train the estimator, take one step of the generator, and evaluate if due."""
        schedule, factor = self._schedule, self._schedule.rate_factor(self.steps)
        losses = self.estimator_steps(schedule.estimator_steps, factor * schedule.estimator_rate)
        nelbo = self.generator_step(factor * schedule.posterior_rate)
        self._detect_failures(losses, nelbo)
        is_last = self.steps == schedule.iterations
        if is_last or self.steps % schedule.evaluate_every == 0:
            self._record()
        if is_last:
            self._detect_divergence()

    def _record(self) -> None:
        """Add a row to the curve of each pair that has not failed."""
        scores = {name: values.tolist() for name, values in self.evaluate(self.steps).items()}
        for k, log in enumerate(self.logs):
            if log.status == OK:
                own = {name: values[k] for name, values in scores.items()}
                row = {"iteration": self.steps, **own}
                log.curve.append({**row, "estimator_loss": log.estimator_loss, "nelbo": log.nelbo})

    def _detect_divergence(self) -> None:
        """Detect pairs that end far above the score of their start."""
        for k, log in enumerate(self.logs):
            if log.status != OK:
                continue
            if not log.curve[-1][self.score] <= DIVERGED_FACTOR * log.untrained:  # true for NaN
                self._fail(k, DIVERGED)

    def _fail(self, k: int, status: str) -> None:
        """Freeze a pair."""
        self.logs[k].status, self.logs[k].failed_at = status, self.steps
        self.active[k] = 0

    def _detect_failures(self, losses: Tensor, nelbo: Tensor | None) -> None:
        """Detect failed pairs and freeze them.

        Args:
            losses: losses of the estimator, `[steps, R]`.
            nelbo: loss of the generator, `[R]`; None before the first iteration.
        """
        if not len(losses):
            return
        is_near = (losses[-STUCK_STEPS:].abs() - STUCK_LOSS).abs() < STUCK_TOLERANCE
        stuck = is_near.T.tolist()
        finite = losses.isfinite().all(0)
        nelbos = [math.nan] * len(self.logs)
        if nelbo is not None:
            finite, nelbos = finite & nelbo.isfinite(), nelbo.tolist()
        is_finite, last = finite.tolist(), losses[-1].tolist()
        for k, log in enumerate(self.logs):
            if log.status != OK:
                continue
            log.estimator_loss, log.nelbo = last[k], nelbos[k]
            log.stuck = [*log.stuck, *stuck[k]][-STUCK_STEPS:]
            if not is_finite[k] or sum(log.stuck) >= STUCK_SHARE * STUCK_STEPS:
                self._fail(k, STUCK if is_finite[k] else NOT_FINITE)

    def replica_state(self, k: int) -> dict[str, Any]:
        return {name: getattr(self, name).adam.state(k) for name in self.networks}

    def restore_replica(self, k: int, state: State) -> None:
        self.active[k] = float(self.logs[k].status == OK)
        for name in self.networks:
            getattr(self, name).adam.restore(k, state[name])
