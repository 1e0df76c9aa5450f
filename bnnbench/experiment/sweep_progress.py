"""Progress of a sweep over all its runs, read from the files on disk."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bnnbench.experiment.run import Run

REPORT_SECONDS = 2.0  # for the figures and tables of a run
PRIOR_SECONDS = 60.0  # weight of the estimated pace
SCAN_SPACING = 10.0  # pause between scans of all unfinished runs, as a multiple of their duration


def time_left(seconds: float) -> str:
    """Format `3 s`, `2 min 05 s` or `1 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


@dataclass
class SweepProgress:
    """The progress of a sweep.

    Attributes:
        runs: every run, finished or not.
        started: `time.monotonic()` at the start.
    """

    runs: Sequence[Run]
    started: float = field(default_factory=time.monotonic)
    _finished: set[int] = field(default_factory=set)
    _progress: dict[int, float] = field(default_factory=dict)
    _next_scan: float = -math.inf

    def __post_init__(self) -> None:
        self._costs = [REPORT_SECONDS + run.experiment.cost(run.workers) for run in self.runs]
        self._initial = self._done()

    @property
    def counts(self) -> tuple[int, int]:
        """Number of finished runs, and of all."""
        return len(self._update_finished()), len(self.runs)

    def seconds_left(self) -> float:
        """Estimate the seconds left from the cost of unfinished runs and the pace since the start.

        The pace is averaged with `PRIOR_SECONDS` at the estimated pace, because the first run may
        be untypical.
        """
        done, elapsed = self._done(), time.monotonic() - self.started
        pace = (PRIOR_SECONDS + done - self._initial) / (PRIOR_SECONDS + elapsed)
        return (sum(self._costs) - done) / pace

    def summary(self, run_seconds_left: float | None = None) -> str:
        """Format `3/48 runs, 12 min 05 s so far, about 1 h 10 min left`.

        Args:
            run_seconds_left: measured for the current run, a lower bound for the whole sweep.
        """
        finished, total = self.counts
        elapsed = time.monotonic() - self.started
        left = max(self.seconds_left(), run_seconds_left or 0.0)
        return f"{finished}/{total} runs, {time_left(elapsed)} so far, about {time_left(left)} left"

    def _update_finished(self) -> set[int]:
        """Return the indices of finished runs; a finished run is not checked again."""
        for k, run in enumerate(self.runs):
            if k not in self._finished and run.complete():
                self._finished.add(k)
        return self._finished

    def _done(self) -> float:
        """Return the cost of finished work; the progress of all runs is scanned at intervals."""
        finished, now = self._update_finished(), time.monotonic()
        if now >= self._next_scan:
            unfinished = ((k, run) for k, run in enumerate(self.runs) if k not in finished)
            self._progress = {k: run.progress() for k, run in unfinished}
            self._next_scan = now + SCAN_SPACING * (time.monotonic() - now)
        parts = (1.0 if k in finished else self._progress[k] for k in range(len(self.runs)))
        return sum(cost * part for cost, part in zip(self._costs, parts, strict=True))
