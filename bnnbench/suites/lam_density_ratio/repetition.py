"""Runs repetitions of the sprinkler from where they were left, and saves what they came to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnnbench.experiment.unit_store import UnitStore
from bnnbench.suites.lam_density_ratio import state_file
from bnnbench.suites.lam_density_ratio.metrics import direct_kl, exact_samples, sliced_wasserstein
from bnnbench.suites.lam_density_ratio.stack import Problem, Replica
from bnnbench.suites.lam_density_ratio.tables import CURVES, REPETITIONS, SAMPLES
from bnnbench.suites.lam_density_ratio.trainer import Course, State, Trainer

ROUNDS = 20
"""Of 1000 draws for each observation that the direct KL is estimated from."""

WASSERSTEIN_DRAWS = 10_000
"""For each observation, of q and of the exact posterior."""


@dataclass(frozen=True)
class Repetition:
    """One repetition of a run.

    Attributes:
        replica: what is trained.
        store: of its run.
        unit: its name there.
    """

    replica: Replica
    store: UnitStore
    unit: str

    @property
    def path(self) -> Path:
        """The file of its state."""
        return self.store.file(self.unit, state_file.SUFFIX)


def run_repetitions(problem: Problem, todo: Sequence[Repetition]) -> None:
    """Trains repetitions in as few stacks as their states allow, and saves them.

    Args:
        problem: what they have in common.
        todo: those of one objective side by side.
    """
    states = [state_file.read(one.path) for one in todo]
    reached = [-1 if state is None else int(state["iteration"]) for state in states]
    # A kill between two files leaves repetitions that are not as far as each other.
    for iteration in sorted(set(reached)):
        own = [k for k, one in enumerate(reached) if one == iteration]
        # Whatever is lost before the first iteration begins again too, in seconds.
        kept = [state for k in own if iteration >= 0 and (state := states[k])]
        _run_stack(problem, [todo[k] for k in own], kept)


def _run_stack(problem: Problem, todo: Sequence[Repetition], states: Sequence[State]) -> None:
    """Trains repetitions to their end together.

    Args:
        problem: what they have in common.
        todo: the repetitions.
        states: of all of them, equally far; empty for a start.
    """
    trainer = Trainer(problem, [one.replica for one in todo])
    trainer.restore(states)

    def save(trainer: Trainer) -> None:
        for k, one in enumerate(todo):
            state_file.write(one.path, trainer.state(k))

    trainer.run(save)
    last = trainer.samples("last").cpu().numpy()
    many = np.stack([trainer.samples("measured", k).cpu().numpy() for k in range(ROUNDS)], 3)
    many = many.reshape(*last.shape[:2], -1, 2)
    exact = exact_samples(problem.data, WASSERSTEIN_DRAWS)
    for k, one in enumerate(todo):
        kl = direct_kl(many[k], problem.data)
        distance = sliced_wasserstein(many[k, :, : exact.shape[1]], exact)
        measured = {"kl": kl, "sliced_wasserstein": distance}
        number, course = {"repetition": one.replica.repetition}, trainer.courses[k]
        tables = {
            CURVES: [{**number, **row} for row in course.curve],
            REPETITIONS: [{**number, **outcome(course, measured)}],
        }
        one.store.save(one.unit, tables, {SAMPLES: {"samples": last[k : k + 1]}})
        one.path.unlink(missing_ok=True)


def outcome(course: Course, measured: dict[str, float]) -> dict[str, float | str | int | None]:
    """A row of `repetitions.csv` without its number.

    `average_kl` is the last evaluation, which is what the thesis's tables have, and
    `average_kl_last5` the mean of the last five, which varies less. Of a repetition that failed
    they are those before it did.

    Args:
        course: how it went.
        measured: `kl` and `sliced_wasserstein`, of the generator as it ended.
    """
    evaluations = [row["average_kl"] for row in course.curve]
    return {
        "average_kl": evaluations[-1] if evaluations else math.nan,
        "average_kl_last5": float(np.mean(evaluations[-5:])) if evaluations else math.nan,
        **measured,
        "estimator_loss": course.estimator_loss,
        "nelbo": course.nelbo,
        "status": course.status,
        "failed_at": course.failed_at,
        "seconds": course.seconds,
    }
