"""Progress of a run, read from what is already on disk: there is no channel that could break.

On a terminal a live bar on standard error, above it one of the sweep that the run belongs to;
elsewhere a plain line a minute, where there is something new to say, and one at the end. A process
that another one started is silent on a terminal, whose bar is that of the sweep.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import current_process
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from bnnbench.experiment.run import Run
from bnnbench.experiment.sweep_progress import SweepProgress, time_left

INTERVAL = 0.5  # seconds between looks at the disk
LINE_SECONDS = 60.0  # between lines, where there is no terminal
KNOWN_SHARE, KNOWN_SECONDS = 0.03, 3.0  # of the work done, from which the time left can be known


@contextmanager
def watch(run: Run, sweep: SweepProgress | None = None) -> Iterator[None]:
    """Shows progress until the block ends."""
    console, terminal = Console(stderr=True), sys.stderr.isatty()
    if terminal and current_process().name != "MainProcess":
        yield
        return
    with _shown(_bar if terminal else _lines, run, sweep, console):
        yield


@contextmanager
def watch_sweep(sweep: SweepProgress) -> Iterator[None]:
    """Shows the progress of a sweep whose runs other processes do; only on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with _shown(_sweep_bar, sweep, Console(stderr=True)):
        yield


@contextmanager
def _shown(show: Callable[..., None], *given: Any) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=show, args=(*given, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)


@dataclass(frozen=True)
class Pace:
    """How much was done when this process began, and when that was."""

    before: float
    began: float

    @classmethod
    def of(cls, run: Run) -> Pace:
        return cls(run.share(), time.monotonic())

    @property
    def so_far(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.began

    def left(self, share: float, wave: float = 0.0) -> float | None:
        """The seconds left; None as long as they cannot be known.

        Args:
            share: what is done of the whole.
            wave: the share of a step on each worker: before all had the time for one, what is done
                speaks of the first alone.
        """
        done = share - self.before
        if share < 1 and (done < max(KNOWN_SHARE, wave) or self.so_far < KNOWN_SECONDS):
            return None
        return self.so_far * (1 - share) / done if done else 0.0

    def left_of(self, run: Run) -> float | None:
        """The seconds left of a run."""
        return self.left(run.share(), run.workers / max(1, run.steps()[1]))


def left_in_words(seconds: float | None) -> str:
    """`, 40 s left`, or nothing where it is not known."""
    return "" if seconds is None else f", {time_left(seconds)} left"


def units_done(run: Run) -> str:
    """`3/20 splits`."""
    total = len(run.experiment.units())
    return f"{total - len(run.open_units())}/{total} {run.experiment.unit_noun}s"


def _columns() -> tuple[ProgressColumn, ...]:
    return (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )


def _bar(run: Run, sweep: SweepProgress | None, console: Console, stop: threading.Event) -> None:
    pace = Pace.of(run)
    with Progress(*_columns(), console=console, transient=True) as progress:
        all_runs = None
        if sweep:
            all_runs = progress.add_task("all runs", total=sweep.counts[1], detail="")
        task = progress.add_task(run.experiment.title, total=run.steps()[1], detail="")
        while True:
            finished = stop.wait(INTERVAL)
            left = pace.left_of(run)
            detail = f"{run.experiment.step_noun}, {units_done(run)}{left_in_words(left)}"
            progress.update(task, completed=run.steps()[0], detail=detail)
            if sweep and all_runs is not None:
                whole = sweep.sentence(left).partition(" ")[2]
                progress.update(all_runs, completed=sweep.counts[0], detail=whole)
            if finished:
                return


def _sweep_bar(sweep: SweepProgress, console: Console, stop: threading.Event) -> None:
    with Progress(*_columns(), console=console, transient=True) as progress:
        task = progress.add_task("all runs", total=sweep.counts[1], detail="")
        finished = False
        while not finished:
            finished = stop.wait(INTERVAL)
            whole = sweep.sentence().partition(" ")[2]
            progress.update(task, completed=sweep.counts[0], detail=whole)


def _lines(run: Run, sweep: SweepProgress | None, console: Console, stop: threading.Event) -> None:
    pace, said, steps = Pace.of(run), time.monotonic(), run.steps()[0]
    finished = False
    while not finished:
        finished = stop.wait(INTERVAL)
        done = run.steps()[0]
        if finished or (done > steps and time.monotonic() - said >= LINE_SECONDS):
            said, steps = time.monotonic(), done
            left = pace.left_of(run)
            beside = f" (all: {sweep.sentence(left)})" if sweep else ""
            console.print(
                f"{run.experiment.title}: {units_done(run)}, {time_left(pace.so_far)} so far"
                f"{left_in_words(left)}{beside}",
                highlight=False,
                soft_wrap=True,
            )
