"""Training of a stack to its end, with detection of failures and saving of states."""

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
from bnnbench.suites.lam_density_ratio.names import NOT_FINITE, OK, STUCK
from bnnbench.suites.lam_density_ratio.networks import BufferedNetwork
from bnnbench.suites.lam_density_ratio.objectives import STUCK_LOSS
from bnnbench.suites.lam_density_ratio.stack import Problem, Replica, Stack, TrainedNetwork

STUCK_TOLERANCE, STUCK_STEPS = 1e-3, 500
"""An estimator is stuck if its loss is within the tolerance of `STUCK_LOSS` for this many steps."""

SAVE_EVERY = 100
"""Iterations between saved states."""

Row = dict[str, Any]
State = dict[str, Any]


@dataclass
class TrainingLog:
    """Training history and status of one replica.

    Attributes:
        curve: rows of `curves.csv` without the repetition.
        status: `ok`, or the kind of failure.
        failed_at: iteration of the failure; 0 also for a failure in pre-training.
        stuck_for: number of consecutive steps at the loss of a stuck estimator.
        estimator_loss: loss of the estimator in the last iteration.
        nelbo: negative ELBO of the last iteration.
        seconds: this replica's part of the processor time.
    """

    curve: list[Row] = field(default_factory=list)
    status: str = OK
    failed_at: int | None = None
    stuck_for: int = 0
    estimator_loss: float = math.nan
    nelbo: float = math.nan
    seconds: float = 0.0


class Trainer:
    """Trains a stack according to its schedule.

    A replica that fails is frozen: its weights stay fixed, its curve ends, and other replicas are
    not affected. It is never restarted, as in the thesis's programs.

    Args:
        problem: settings that the replicas share.
        replicas: the replicas, those with the same objective adjacent.
    """

    def __init__(self, problem: Problem, replicas: Sequence[Replica]) -> None:
        self.stack = Stack(problem, replicas)
        self.logs = [TrainingLog() for _ in replicas]
        self.iteration = -1  # the last finished one
        self._schedule = problem.schedule

    @torch.inference_mode()
    def run(self, save: Callable[[Trainer], None], stop: int | None = None) -> None:
        """Train to the end of the schedule.

        Args:
            save: called every `SAVE_EVERY` iterations and after the last one.
            stop: iteration to stop after, for tests.
        """
        last = self._schedule.iterations if stop is None else stop
        started = time.process_time()
        if self.iteration < 0:
            self._detect_failures(self._pretrain(), None)
        while self.iteration < last and any(log.status == OK for log in self.logs):
            self.iteration += 1
            self._iterate()
            if self.iteration % SAVE_EVERY == 0:
                started = self._add_seconds(started)
                save(self)
        self._add_seconds(started)
        save(self)

    def _add_seconds(self, started: float) -> float:
        now = time.process_time()
        for log in self.logs:
            log.seconds += (now - started) / len(self.logs)
        return now

    def _pretrain(self) -> Tensor:
        schedule = self._schedule
        return self.stack.estimator_steps(schedule.pretraining_steps, schedule.estimator_rate)

    def _iterate(self) -> None:
        """Train the estimator, take one step of the generator, and evaluate if due."""
        schedule, factor = self._schedule, self._schedule.rate_factor(self.iteration)
        losses = self.stack.estimator_steps(
            schedule.estimator_steps, factor * schedule.estimator_rate
        )
        nelbo = self.stack.generator_step(factor * schedule.posterior_rate)
        self._detect_failures(losses, nelbo)
        if schedule.evaluates_after(self.iteration):
            self._evaluate()

    def _detect_failures(self, losses: Tensor, nelbo: Tensor | None) -> None:
        """Detect failed replicas and freeze them.

        Args:
            losses: losses of the estimator, `[steps, R]`.
            nelbo: loss of the generator, `[R]`; None before the first iteration.
        """
        if not len(losses):
            return
        is_near = ((losses - STUCK_LOSS).abs() < STUCK_TOLERANCE).int()
        trailing = is_near.flip(0).cummin(0).values.sum(0)
        finite = losses.isfinite().all(0)
        if nelbo is not None:
            finite &= nelbo.isfinite()
        lists = (losses[-1], trailing, finite, losses[-1] if nelbo is None else nelbo)
        rows = zip(*(values.tolist() for values in lists), strict=True)
        for k, (loss, stuck_steps, is_finite, nelbo_) in enumerate(rows):
            log = self.logs[k]
            if log.status != OK:
                continue
            log.estimator_loss, log.nelbo = loss, math.nan if nelbo is None else nelbo_
            always_stuck = stuck_steps == len(losses)
            log.stuck_for = stuck_steps + (log.stuck_for if always_stuck else 0)
            if not is_finite or log.stuck_for >= STUCK_STEPS:
                log.status = STUCK if is_finite else NOT_FINITE
                log.failed_at = max(self.iteration, 0)
                self.stack.active[k] = 0

    def _evaluate(self) -> None:
        values = average_kl(self.samples("evaluation", self.iteration), self.stack.problem.data)
        for log, value in zip(self.logs, values.tolist(), strict=True):
            if log.status == OK:
                row = {"iteration": self.iteration, "average_kl": value}
                losses = {"estimator_loss": log.estimator_loss, "nelbo": log.nelbo}
                log.curve.append({**row, **losses})

    @cached_property
    def _sampler(self) -> BufferedNetwork:
        flat = self.stack.generator.parameters.flat
        data = flat.new_tensor(self.stack.problem.data)
        return BufferedNetwork(self.stack.generator.parameters, DRAWS * len(data), data)

    @torch.inference_mode()
    def samples(self, *purpose: str | int) -> Tensor:
        """Return draws of the current q, `[R, K, DRAWS, 2]`.

        Args:
            purpose: name of the random stream; equal names give equal random numbers.
        """
        for k, replica in enumerate(self.stack.replicas):
            random = torch.Generator(self.stack.active.device)
            random.manual_seed(replica.seed_for(*purpose))
            self._sampler.inputs[k].normal_(generator=random)
        z = self._sampler.forward()
        return z.view(len(z), 2, -1, DRAWS).permute(0, 2, 3, 1).contiguous()

    def state(self, k: int) -> State:
        """Return everything needed to resume replica `k`."""
        stack = self.stack
        return {
            "iteration": self.iteration,
            "log": {**vars(self.logs[k]), "curve": list(self.logs[k].curve)},
            "random": stack.draws.generators[k].get_state(),
            "generator": _network_state(stack.generator, k),
            "estimator": _network_state(stack.estimator, k),
        }

    @torch.inference_mode()
    def restore(self, states: Sequence[State]) -> None:
        """Resume from saved states, all of the same iteration."""
        stack = self.stack
        for k, state in enumerate(states):
            self.iteration = state["iteration"]
            self.logs[k] = TrainingLog(**state["log"])
            stack.active[k] = float(self.logs[k].status == OK)
            stack.draws.generators[k].set_state(state["random"])
            for network, name in ((stack.generator, "generator"), (stack.estimator, "estimator")):
                network.adam.steps = state[name]["steps"]
                for row, saved in zip(_rows(network, k), state[name]["rows"], strict=True):
                    row.copy_(saved)


def _rows(network: TrainedNetwork, k: int) -> tuple[Tensor, ...]:
    return network.parameters.flat[k], network.adam.first[k], network.adam.second[k]


def _network_state(network: TrainedNetwork, k: int) -> State:
    return {"steps": network.adam.steps, "rows": [row.cpu().clone() for row in _rows(network, k)]}
