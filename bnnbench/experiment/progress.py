"""Progress of a run, read from what is already on disk: there is no channel that could break.

On a terminal a live bar on standard error, above it one of the sweep that the run belongs to;
elsewhere one plain line per finished unit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bnnbench.experiment.run import Run
from bnnbench.experiment.sweep_progress import SweepProgress, time_left

INTERVAL = 0.5  # seconds between looks at the disk


@contextmanager
def watch(run: Run, sweep: SweepProgress | None = None) -> Iterator[None]:
    """Shows progress until the block ends."""
    console = Console(stderr=True)
    stop = threading.Event()
    show = _bar if console.is_terminal else _lines
    thread = threading.Thread(target=show, args=(run, sweep, console, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)


def units_done(run: Run) -> str:
    """`3/20 splits`."""
    total = len(run.experiment.units())
    return f"{total - len(run.open_units())}/{total} {run.experiment.unit_noun}s"


def _estimate(done: int, before: int, total: int, since: float) -> str:
    if done == before:
        return ""
    return time_left((time.monotonic() - since) * (total - done) / (done - before))


def _bar(run: Run, sweep: SweepProgress | None, console: Console, stop: threading.Event) -> None:
    before, total = run.steps()
    started = time.monotonic()
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        all_runs = (
            progress.add_task("all runs", total=sweep.counts[1], detail="") if sweep else None
        )
        task = progress.add_task(run.experiment.title, total=total, detail="")
        while True:
            finished = stop.wait(INTERVAL)
            done, _ = run.steps()
            left = _estimate(done, before, total, started)
            detail = f"{run.experiment.step_noun}, {units_done(run)}, {left or '?'} left"
            progress.update(task, completed=done, detail=detail)
            if sweep and all_runs is not None:
                whole = sweep.sentence().partition(" ")[2]
                progress.update(all_runs, completed=sweep.counts[0], detail=whole)
            if finished:
                return


def _lines(run: Run, sweep: SweepProgress | None, console: Console, stop: threading.Event) -> None:
    before, total = run.steps()
    started, reported = time.monotonic(), len(run.open_units())
    while True:
        finished = stop.wait(INTERVAL)
        left_open = len(run.open_units())
        if left_open < reported:
            reported = left_open
            left = _estimate(run.steps()[0], before, total, started)
            beside = f" (all: {sweep.sentence()})" if sweep else ""
            console.print(
                f"{run.experiment.title}: {units_done(run)}, "
                f"{time_left(time.monotonic() - started)} so far, {left or '?'} left{beside}",
                highlight=False,
                soft_wrap=True,
            )
        if finished:
            return
