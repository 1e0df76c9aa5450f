"""How far a whole sweep is, over all its runs, read from what is already on disk."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bnnbench.experiment import trial_log
from bnnbench.experiment.plan import Plan

REPORT_SECONDS = 2.0  # a run's figures and tables
TRUSTED = 60.0


def work_done(plan: Plan) -> tuple[int, int, int]:
    """`(splits finished, evaluations finished, evaluations in all)`."""
    folder = plan.folder
    finished = [folder.scores(k).exists() for k in plan.splits]
    evaluations = sum(
        plan.iterations if done else min(trial_log.count(folder.journal(k)), plan.iterations)
        for k, done in zip(plan.splits, finished, strict=True)
    )
    return sum(finished), evaluations, plan.iterations * len(plan.splits)


def units(plan: Plan) -> tuple[int, int]:
    """Finished and total work of one run; a final fit counts as one evaluation."""
    splits, evaluations, total = work_done(plan)
    return splits + evaluations, total + len(plan.splits)


def time_left(seconds: float) -> str:
    """`3 s`, `2 min 05 s`, `1 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def cost(plan: Plan) -> float:
    """Roughly the seconds of a run on a CPU: its training steps times what one takes.

    For sharing out the time left between runs of a sweep, and for nothing else; a `Suite`
    corrects it by the pace it sees.
    """
    rows, training = len(plan.table.splits[0].train), plan.training
    batch = int(getattr(plan.method, "batch_size", training.batch_size))
    stack = len(plan.groups[0])
    widths = plan.network.widths
    # Weights between hidden layers cost as much as 2.5 activations each, whatever the batch.
    units = batch * (sum(widths) or 1) + 2.5 * sum(a * b for a, b in pairwise(widths))
    size = training.samples * units * stack
    searched = plan.iterations * training.epochs * _step(size * plan.search.folds)
    # The folds are fitted once more for the out-of-fold predictions.
    fits = 1 + plan.search.folds * plan.evaluation.out_of_fold
    final = training.final_epochs * _step(size * fits)
    at_once = 1 if plan.lockstep else min(plan.workers, len(plan.groups))
    stacks = len(plan.groups) / at_once
    return REPORT_SECONDS + stacks * math.ceil(rows / batch) * (searched + final)


def _step(activations: float) -> float:
    """Seconds of one step: launching its operations, and computing (measured on Boston)."""
    return 1e-4 + 4.4e-9 * activations


@dataclass
class Suite:
    """The runs of a sweep, and when this process began with them.

    Attributes:
        plans: every run, finished or not.
        began: `time.monotonic()` at the start.
    """

    plans: Sequence[Plan]
    began: float = field(default_factory=time.monotonic)
    _finished: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._costs = [cost(plan) for plan in self.plans]
        self._before = self._done()

    @property
    def runs(self) -> tuple[int, int]:
        """Finished runs, and all."""
        return len(self._look()), len(self.plans)

    def seconds_left(self) -> float:
        """The cost of what is left, at the pace since the start.

        `TRUSTED` seconds at the estimated pace are taken as seen, so that the first run, which
        may be a quick one, does not speak for all.
        """
        done, elapsed = self._done(), time.monotonic() - self.began
        pace = (TRUSTED + done - self._before) / (TRUSTED + elapsed)
        return (sum(self._costs) - done) / pace

    def _look(self) -> set[int]:
        """Which runs are finished; those found so once are not looked at again."""
        for k, plan in enumerate(self.plans):
            if k not in self._finished and plan.folder.done.exists():
                self._finished.add(k)
        return self._finished

    def _done(self) -> float:
        finished = self._look()
        return sum(
            weight if k in finished else weight * _share(plan)
            for k, (plan, weight) in enumerate(zip(self.plans, self._costs, strict=True))
        )

    def sentence(self) -> str:
        """`3/48 runs, 12 min 05 s so far, about 1 h 10 min left`."""
        finished, total = self.runs
        so_far, left = time.monotonic() - self.began, self.seconds_left()
        return f"{finished}/{total} runs, {time_left(so_far)} so far, about {time_left(left)} left"


def _share(plan: Plan) -> float:
    done, total = units(plan)
    return done / total


_current: list[Suite] = []


def begin(plans: Sequence[Plan]) -> None:
    """Says which runs this process is about to do; the progress of each then shows them all."""
    _current[:] = [Suite(plans)] if len(plans) > 1 else []


def end() -> None:
    """Forgets the suite."""
    _current.clear()


def current() -> Suite | None:
    """The suite that this process works on."""
    return _current[0] if _current else None
