"""Progress of a run and of its sweep, read from the files on disk.

On a terminal, live bars on standard error for the run and its sweep; otherwise at most one line per
minute and one at the end.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TextColumn,
)
from rich.table import Column

from bnnbench.experiment.kinds.base import HasSteps
from bnnbench.experiment.run.run import Run
from bnnbench.notes import shows_progress

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


def seconds_left(run: Run) -> float:
    """Estimate the remaining seconds of a run, with its page, on an otherwise idle machine."""
    missing, units = len(run.unfinished_units()), len(run.experiment.units())
    return REPORT_SECONDS + run.cost() * missing / units if missing else 0.0


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
        self._costs = [REPORT_SECONDS + run.cost() for run in self.runs]
        self._initial = self._done()

    @property
    def counts(self) -> tuple[int, int]:
        """Number of finished runs, and of all."""
        return len(self._update_finished()), len(self.runs)

    @property
    def pace(self) -> float:
        """Seconds of estimated cost that are finished per second since the start.

        It is averaged with `PRIOR_SECONDS` at the estimated pace, because the first run may be
        untypical.
        """
        done, elapsed = self._done() - self._initial, time.monotonic() - self.started
        return (PRIOR_SECONDS + done) / (PRIOR_SECONDS + elapsed)

    def seconds_left(self) -> float:
        """Estimate the seconds left from the cost of unfinished runs and the pace."""
        return (sum(self._costs) - self._done()) / self.pace

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


BAR_WIDTH, DETAIL_WIDTH = 10, 46  # characters of a bar, and of the longest text after it
INTERVAL = 0.5  # seconds between looks at the disk
LINE_INTERVAL = 60.0  # seconds between lines, without a terminal
MIN_FRACTION, MIN_SECONDS = 0.03, 3.0  # of the work, before the time left is estimated


@contextmanager
def watch(run: Run, sweep: SweepProgress | None = None) -> Iterator[None]:
    """Show progress in a thread until the end of the block."""
    show, stop = _bar if shows_progress(sys.stderr) else _lines, threading.Event()
    arguments = (run, sweep, Console(stderr=True), stop)
    thread = threading.Thread(target=show, args=arguments, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)


@dataclass
class Pace:
    """The progress of a run at the start of this process, and the time of the start.

    The first step of each worker includes work that is done only once, such as loading modules. The
    pace is therefore measured on later steps, as soon as there are enough of them.
    """

    initial: float
    started: float
    _later: Pace | None = None

    @classmethod
    def of(cls, run: Run) -> Pace:
        return cls(run.progress(), time.monotonic())

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def seconds_left(self, progress: float, one_round: float = 0.0) -> float | None:
        """Estimate the seconds left; None if it is too early to tell.

        Args:
            progress: finished fraction.
            one_round: fraction of the run in one step of every worker. There is no estimate before
                it is finished; the first estimates use its pace only if it is a large part.
        """
        done = progress - self.initial
        if 0 < one_round <= done and progress < 1:
            self._later = self._later or Pace(progress, time.monotonic())
            left = self._later.seconds_left(progress)
            if left is not None or one_round < MIN_FRACTION:
                return left
        if progress < 1 and (done < max(MIN_FRACTION, one_round) or self.elapsed < MIN_SECONDS):
            return None
        return self.elapsed * (1 - progress) / done if done else 0.0

    def seconds_left_of(self, run: Run) -> float | None:
        """Estimate the seconds left of a run; None if it is too early to tell."""
        return self.seconds_left(run.progress(), run.workers / max(1, run.steps()[1]))


def time_left_suffix(seconds: float | None) -> str:
    """Format `, 40 s left`; empty if unknown."""
    return "" if seconds is None else f", {time_left(seconds)} left"


def units_done(run: Run) -> str:
    """Format `3/20 splits`."""
    total = len(run.experiment.units())
    return f"{total - len(run.unfinished_units())}/{total} {run.experiment.unit_noun}s"


def _columns(title: str, columns: int) -> tuple[ProgressColumn, ...]:
    """Return a title, a bar and a text, which wrap between words on a narrow terminal."""
    done = "{task.completed:.0f}/{task.total:.0f} {task.fields[detail]}"
    narrow = len(title) + BAR_WIDTH + DETAIL_WIDTH > columns
    first = Column(width=max(map(len, title.split())) if narrow else None)
    return (
        TextColumn("[bold]{task.description}", table_column=first),
        BarColumn(BAR_WIDTH),
        TextColumn(done, table_column=Column()),
    )


def _bar(run: Run, sweep: SweepProgress | None, console: Console, stop: threading.Event) -> None:
    pace = Pace.of(run)
    with Progress(
        *_columns(run.experiment.title, console.width), console=console, transient=True
    ) as progress:
        all_runs = None
        if sweep:
            all_runs = progress.add_task("all runs", total=sweep.counts[1], detail="")
        task = progress.add_task(run.experiment.title, total=run.steps()[1], detail="")
        steps = f"{run.experiment.unit_noun}s"
        if isinstance(run.experiment, HasSteps):
            steps = run.experiment.step_noun
        while True:
            finished = stop.wait(INTERVAL)
            left = pace.seconds_left_of(run)
            detail = f"{steps}, {units_done(run)}{time_left_suffix(left)}"
            progress.update(task, completed=run.steps()[0], detail=detail)
            if sweep and all_runs is not None:
                whole = sweep.summary(left).partition(" ")[2]
                progress.update(all_runs, completed=sweep.counts[0], detail=whole)
            if finished:
                return


def _lines(run: Run, sweep: SweepProgress | None, console: Console, stop: threading.Event) -> None:
    pace, printed, steps = Pace.of(run), time.monotonic(), run.steps()[0]
    finished = False
    while not finished:
        finished = stop.wait(max(INTERVAL, LINE_INTERVAL / 12))
        done, left = run.steps()[0], pace.seconds_left_of(run)
        if finished or (done > steps and time.monotonic() - printed >= LINE_INTERVAL):
            printed, steps = time.monotonic(), done
            whole = f" (all: {sweep.summary(left)})" if sweep else ""
            console.print(
                f"{run.experiment.title}: {units_done(run)}, {time_left(pace.elapsed)} so far"
                f"{time_left_suffix(left)}{whole}",
                highlight=False,
                soft_wrap=True,
            )
