"""Trains a stack to its end, watches for failures, and keeps what it takes to go on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from bnnbench.suites.lam_density_ratio.metrics import DRAWS, average_kl
from bnnbench.suites.lam_density_ratio.networks import Pass
from bnnbench.suites.lam_density_ratio.objectives import STUCK_LOSS
from bnnbench.suites.lam_density_ratio.stack import Half, Problem, Replica, Stack
from bnnbench.suites.lam_density_ratio.tables import NOT_FINITE, OK, STUCK

STUCK_WITHIN, STUCK_STEPS = 1e-3, 500
"""An estimator is stuck when its loss has been this near `STUCK_LOSS` for so many steps."""

SAVE_EVERY = 100
"""Iterations between states."""

Row = dict[str, Any]
State = dict[str, Any]


@dataclass
class Course:
    """What has become of one replica so far.

    Attributes:
        curve: rows of `curves.csv` without the repetition.
        status: `ok`, or how it failed.
        failed_at: the iteration in which it did; 0 also for one lost before the first.
        stuck_for: steps in a row at the loss of an estimator that is stuck.
        estimator_loss: of the last iteration.
        nelbo: of the last iteration.
        seconds: its share of the processor time spent.
    """

    curve: list[Row] = field(default_factory=list)
    status: str = OK
    failed_at: int | None = None
    stuck_for: int = 0
    estimator_loss: float = math.nan
    nelbo: float = math.nan
    seconds: float = 0.0


class Trainer:
    """A stack on its way through its schedule.

    A replica that fails is frozen where it is: its weights stay, its curve ends, and nothing of it
    reaches the others. It is never started again, as the thesis's programs do.

    Args:
        problem: what the replicas have in common.
        replicas: those of one objective side by side.
    """

    def __init__(self, problem: Problem, replicas: Sequence[Replica]) -> None:
        self.stack = Stack(problem, replicas)
        self.courses = [Course() for _ in replicas]
        self.iteration = -1  # the last one that is done
        self._schedule = problem.schedule

    @torch.inference_mode()
    def run(self, save: Callable[[Trainer], None], stop: int | None = None) -> None:
        """Trains to the end of the schedule.

        Args:
            save: called every `SAVE_EVERY` iterations and after the last.
            stop: an iteration to stop after, for tests.
        """
        last = self._schedule.iterations if stop is None else stop
        started = time.process_time()
        if self.iteration < 0:
            self._watch(self._pretrain(), None)
        while self.iteration < last and any(one.status == OK for one in self.courses):
            self.iteration += 1
            self._iterate()
            if self.iteration % SAVE_EVERY == 0:
                started = self._clock(started)
                save(self)
        self._clock(started)
        save(self)

    def _clock(self, started: float) -> float:
        now = time.process_time()
        for course in self.courses:
            course.seconds += (now - started) / len(self.courses)
        return now

    def _pretrain(self) -> Tensor:
        schedule = self._schedule
        return self.stack.estimator_steps(schedule.pretraining_steps, schedule.estimator_rate)

    def _iterate(self) -> None:
        """Steps of the estimator, one of the generator, and the evaluation where it is due."""
        schedule, pace = self._schedule, self._schedule.pace(self.iteration)
        losses = self.stack.estimator_steps(
            schedule.estimator_steps, pace * schedule.estimator_rate
        )
        nelbo = self.stack.generator_step(pace * schedule.posterior_rate)
        self._watch(losses, nelbo)
        if schedule.evaluates(self.iteration):
            self._evaluate()

    def _watch(self, losses: Tensor, nelbo: Tensor | None) -> None:
        """Looks for failures and freezes them.

        Args:
            losses: of the estimator, `[steps, R]`.
            nelbo: of the generator, `[R]`; None before the first iteration.
        """
        if not len(losses):
            return
        near = ((losses - STUCK_LOSS).abs() < STUCK_WITHIN).int()
        trailing = near.flip(0).cummin(0).values.sum(0)
        finite = losses.isfinite().all(0)
        if nelbo is not None:
            finite &= nelbo.isfinite()
        lists = (losses[-1], trailing, finite, losses[-1] if nelbo is None else nelbo)
        found = zip(*(one.tolist() for one in lists), strict=True)
        for k, (loss, run, sound, nelbo_) in enumerate(found):
            course = self.courses[k]
            if course.status != OK:
                continue
            course.estimator_loss, course.nelbo = loss, math.nan if nelbo is None else nelbo_
            course.stuck_for = run + (course.stuck_for if run == len(losses) else 0)
            if not sound or course.stuck_for >= STUCK_STEPS:
                course.status = STUCK if sound else NOT_FINITE
                course.failed_at = max(self.iteration, 0)
                self.stack.active[k] = 0

    def _evaluate(self) -> None:
        values = average_kl(self.samples("evaluation", self.iteration), self.stack.problem.data)
        for course, value in zip(self.courses, values.tolist(), strict=True):
            if course.status == OK:
                row = {"iteration": self.iteration, "average_kl": value}
                losses = {"estimator_loss": course.estimator_loss, "nelbo": course.nelbo}
                course.curve.append({**row, **losses})

    @cached_property
    def _sampler(self) -> Pass:
        flat = self.stack.generator.parameters.flat
        data = flat.new_tensor(self.stack.problem.data)
        return Pass(self.stack.generator.parameters, DRAWS * len(data), data)

    @torch.inference_mode()
    def samples(self, *purpose: str | int) -> Tensor:
        """Draws of q as it is, `[R, K, DRAWS, 2]`, the same ones whenever asked for.

        Args:
            purpose: what the random numbers are for.
        """
        for k, replica in enumerate(self.stack.replicas):
            random = torch.Generator(self.stack.active.device)
            random.manual_seed(replica.seed_for(*purpose))
            self._sampler.inputs[k].normal_(generator=random)
        z = self._sampler.forward()
        return z.view(len(z), 2, -1, DRAWS).permute(0, 2, 3, 1).contiguous()

    def state(self, k: int) -> State:
        """All that it takes to go on with one replica."""
        stack = self.stack
        return {
            "iteration": self.iteration,
            "course": {**vars(self.courses[k]), "curve": list(self.courses[k].curve)},
            "random": stack.draws.generators[k].get_state(),
            "generator": _half_state(stack.generator, k),
            "estimator": _half_state(stack.estimator, k),
        }

    @torch.inference_mode()
    def restore(self, states: Sequence[State]) -> None:
        """Goes on from states that are as far as each other."""
        stack = self.stack
        for k, state in enumerate(states):
            self.iteration = state["iteration"]
            self.courses[k] = Course(**state["course"])
            stack.active[k] = float(self.courses[k].status == OK)
            stack.draws.generators[k].set_state(state["random"])
            for half, name in ((stack.generator, "generator"), (stack.estimator, "estimator")):
                half.adam.steps = state[name]["steps"]
                for own, kept in zip(_rows(half, k), state[name]["rows"], strict=True):
                    own.copy_(kept)


def _rows(half: Half, k: int) -> tuple[Tensor, ...]:
    return half.parameters.flat[k], half.adam.first[k], half.adam.second[k]


def _half_state(half: Half, k: int) -> State:
    return {"steps": half.adam.steps, "rows": [row.cpu().clone() for row in _rows(half, k)]}
