"""Run repetitions of the sprinkler, resuming saved states, and save their results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnnbench.experiment import state_file
from bnnbench.experiment.run_folder import UnitStore
from bnnbench.suites.lam_density_ratio import metrics, names
from bnnbench.suites.lam_density_ratio.problem import Problem, Replica
from bnnbench.suites.lam_density_ratio.stack import Stack
from bnnbench.suites.lam_density_ratio.trainer import State, Trainer, TrainingLog

RESULTS = ("estimator_loss", "nelbo", "status", "failed_at", "seconds")
"""Columns of `repetitions.csv` that are fields of the log."""

KL_ROUNDS = 20
"""Rounds of 1000 draws per observation from which the nearest-neighbour KL is estimated."""


@dataclass(frozen=True)
class Repetition:
    """One repetition of a run.

    Attributes:
        replica: the replica to train.
        store: store of its run.
        unit: its name in the store.
    """

    replica: Replica
    store: UnitStore
    unit: str

    @property
    def path(self) -> Path:
        """File of its saved state."""
        return self.store.file(self.unit, state_file.SUFFIX)


def run_repetitions(problem: Problem, repetitions: Sequence[Repetition]) -> None:
    """Train repetitions in as few stacks as their saved states allow, and save their results.

    Args:
        problem: settings that they share.
        repetitions: the repetitions.
    """
    states = [state_file.read(repetition.path) for repetition in repetitions]
    reached = [-1 if state is None else int(state["iteration"]) for state in states]
    # If killed between two writes, a run leaves states of different iterations.
    for iteration in sorted(set(reached)):
        members = [k for k, last in enumerate(reached) if last == iteration]
        # States from before the first iteration are not reused: pre-training takes seconds.
        saved = [state for k in members if iteration >= 0 and (state := states[k])]
        _run_stack(problem, [repetitions[k] for k in members], saved)


def trainer_of(problem: Problem, replicas: Sequence[Replica]) -> tuple[Stack, Trainer]:
    """Return new networks and their trainer, which evaluates the average KL."""
    stack = Stack(problem, replicas)

    def evaluate(iteration: int) -> dict[str, Any]:
        samples = stack.samples("evaluation", iteration)
        return {"average_kl": metrics.average_kl(samples, problem.data)}

    return stack, Trainer(stack, problem.schedule, evaluate)


def _run_stack(
    problem: Problem, repetitions: Sequence[Repetition], states: Sequence[State]
) -> None:
    """Train repetitions to their end in one stack.

    Args:
        problem: settings that they share.
        repetitions: the repetitions.
        states: their states, all of the same iteration; empty to start from scratch.
    """
    stack, trainer = trainer_of(problem, [repetition.replica for repetition in repetitions])
    trainer.restore(states)

    def save() -> None:
        for k, repetition in enumerate(repetitions):
            state_file.write(repetition.path, trainer.state(k))

    trainer.run(save)
    last = stack.samples("last").cpu().numpy()
    draws = np.stack([stack.samples("measured", k).cpu().numpy() for k in range(KL_ROUNDS)], 3)
    draws = draws.reshape(*last.shape[:2], -1, 2)
    for k, repetition in enumerate(repetitions):
        kl = metrics.nearest_neighbour_kl(draws[k], problem.data)
        number, log = {"repetition": repetition.replica.repetition}, trainer.logs[k]
        tables = {
            names.CURVES: [{**number, **row} for row in log.curve],
            names.REPETITIONS: [{**number, **result_row(log, kl)}],
        }
        arrays = {names.SAMPLES: {names.SAMPLES: last[k : k + 1]}}
        repetition.store.save(repetition.unit, tables, arrays)
        repetition.path.unlink(missing_ok=True)


def result_row(log: TrainingLog, kl: float) -> dict[str, float | str | int | None]:
    """Return a row of `repetitions.csv` without the number of the repetition.

    `average_kl` is the last evaluation, as in the thesis's tables; if the repetition failed, the
    last one before the failure.

    Args:
        log: log of the training.
        kl: KL divergence of the final generator from the posterior, by nearest neighbours.
    """
    return {
        "average_kl": log.curve[-1]["average_kl"] if log.curve else math.nan,
        "kl": kl,
        **{name: getattr(log, name) for name in RESULTS},
    }
