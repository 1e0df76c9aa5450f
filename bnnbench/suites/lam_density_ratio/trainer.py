"""Alternating training of a density-ratio estimator and a generator, with detection of failures.

The trainer knows no model: `Adversaries` takes the steps, and a function evaluates the generator.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from bnnbench.suites.lam_density_ratio.names import NOT_FINITE, OK, STUCK
from bnnbench.suites.lam_density_ratio.objectives import STUCK_LOSS
from bnnbench.suites.lam_density_ratio.schedule import Schedule

STUCK_TOLERANCE, STUCK_STEPS = 1e-3, 500
"""An estimator is stuck if its loss is within the tolerance of `STUCK_LOSS` for this many steps."""

SAVE_SECONDS = 10.0
"""Seconds between saved states."""

State = Mapping[str, Any]


class Adversaries(Protocol):
    """`R` pairs of an estimator and a generator, trained in one stack."""

    active: Tensor
    """`[R, 1]`, 1, or 0 for pairs that are not updated any more."""

    def estimator_steps(self, count: int, rate: float) -> Tensor:
        """Train the estimators; return the loss before each step, `[count, R]`."""

    def generator_step(self, rate: float) -> Tensor:
        """Take one step of the generators; return the loss before it, `[R]`."""

    def state(self, k: int) -> dict[str, Any]:
        """Return everything needed to resume pair `k`."""

    def restore(self, k: int, state: State) -> None:
        """Set pair `k` to a saved state."""


@dataclass
class TrainingLog:
    """Training history and status of one pair.

    Attributes:
        curve: a row per evaluation: the iteration, the scores, the estimator's loss and the NELBO.
        status: `ok`, or the kind of failure.
        failed_at: iteration of the failure; 0 also for a failure in pre-training.
        stuck_for: number of consecutive steps at the loss of a stuck estimator.
        estimator_loss: loss of the estimator in the last iteration.
        nelbo: negative ELBO of the last iteration.
        seconds: this pair's part of the processor time.
    """

    curve: list[dict[str, Any]] = field(default_factory=list)
    status: str = OK
    failed_at: int | None = None
    stuck_for: int = 0
    estimator_loss: float = math.nan
    nelbo: float = math.nan
    seconds: float = 0.0


class Trainer:
    """Trains a stack according to its schedule.

    A pair that fails is frozen: its weights stay fixed, its curve ends, and other pairs are not
    affected. It is never restarted, as in the thesis's programs.

    Args:
        stack: the networks.
        schedule: numbers of steps, and learning rates.
        evaluate: returns scores by name, `[R]` each, after an iteration.
    """

    def __init__(
        self,
        stack: Adversaries,
        schedule: Schedule,
        evaluate: Callable[[int], Mapping[str, Tensor]],
    ) -> None:
        self.stack = stack
        self.logs = [TrainingLog() for _ in stack.active]
        self.iteration = -1  # the last finished one
        self._schedule, self._evaluate = schedule, evaluate

    @torch.inference_mode()
    def run(self, save: Callable[[], None], stop: int | None = None) -> None:
        """Train to the end of the schedule.

        Args:
            save: called every `SAVE_SECONDS` and after the last iteration.
            stop: iteration to stop after, for tests.
        """
        schedule, started, saved = self._schedule, time.process_time(), time.monotonic()
        last = schedule.iterations if stop is None else stop
        if self.iteration < 0:
            steps = schedule.pretraining_steps
            losses = self.stack.estimator_steps(steps, schedule.estimator_rate)
            self._detect_failures(losses, None)
        while self.iteration < last and any(log.status == OK for log in self.logs):
            self.iteration += 1
            self._iterate()
            if time.monotonic() - saved > SAVE_SECONDS:
                started = self._add_seconds(started)
                save()
                saved = time.monotonic()
        self._add_seconds(started)
        save()

    def _add_seconds(self, started: float) -> float:
        now = time.process_time()
        for log in self.logs:
            log.seconds += (now - started) / len(self.logs)
        return now

    def _iterate(self) -> None:
        """Train the estimator, take one step of the generator, and evaluate if due."""
        schedule, factor = self._schedule, self._schedule.rate_factor(self.iteration)
        losses = self.stack.estimator_steps(
            schedule.estimator_steps, factor * schedule.estimator_rate
        )
        nelbo = self.stack.generator_step(factor * schedule.posterior_rate)
        self._detect_failures(losses, nelbo)
        if schedule.evaluates_after(self.iteration):
            self._record()

    def _record(self) -> None:
        """Add a row to the curve of each pair that has not failed."""
        scores = {name: values.tolist() for name, values in self._evaluate(self.iteration).items()}
        for k, log in enumerate(self.logs):
            if log.status == OK:
                own = {name: values[k] for name, values in scores.items()}
                row = {"iteration": self.iteration, **own}
                log.curve.append({**row, "estimator_loss": log.estimator_loss, "nelbo": log.nelbo})

    def _detect_failures(self, losses: Tensor, nelbo: Tensor | None) -> None:
        """Detect failed pairs and freeze them.

        Args:
            losses: losses of the estimator, `[steps, R]`.
            nelbo: loss of the generator, `[R]`; None before the first iteration.
        """
        if not len(losses):
            return
        is_near = ((losses - STUCK_LOSS).abs() < STUCK_TOLERANCE).int()
        trailing = is_near.flip(0).cummin(0).values.sum(0).tolist()
        finite = losses.isfinite().all(0)
        nelbos = [math.nan] * len(self.logs)
        if nelbo is not None:
            finite, nelbos = finite & nelbo.isfinite(), nelbo.tolist()
        is_finite, last = finite.tolist(), losses[-1].tolist()
        for k, log in enumerate(self.logs):
            if log.status != OK:
                continue
            log.estimator_loss, log.nelbo = last[k], nelbos[k]
            always_stuck = trailing[k] == len(losses)
            log.stuck_for = trailing[k] + (log.stuck_for if always_stuck else 0)
            if not is_finite[k] or log.stuck_for >= STUCK_STEPS:
                log.status = STUCK if is_finite[k] else NOT_FINITE
                log.failed_at = max(self.iteration, 0)
                self.stack.active[k] = 0

    def state(self, k: int) -> State:
        """Return everything needed to resume pair `k`."""
        log = {**vars(self.logs[k]), "curve": list(self.logs[k].curve)}
        return {"iteration": self.iteration, "log": log, **self.stack.state(k)}

    @torch.inference_mode()
    def restore(self, states: Sequence[State]) -> None:
        """Resume from saved states, all of the same iteration."""
        for k, state in enumerate(states):
            self.iteration = state["iteration"]
            self.logs[k] = TrainingLog(**state["log"])
            self.stack.active[k] = float(self.logs[k].status == OK)
            self.stack.restore(k, state)
