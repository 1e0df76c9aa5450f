"""Progress of a run, read from what is already on disk: there is no channel that could break.

On a terminal a live bar on standard error, above it one of the sweep that the run belongs to;
elsewhere one plain line per finished split.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bnnbench.experiment.plan import Plan
from bnnbench.experiment.sweep_progress import current, time_left, units, work_done

INTERVAL = 0.5  # seconds between looks at the disk


@contextmanager
def watch(plan: Plan) -> Iterator[None]:
    """Shows progress until the block ends."""
    console = Console(stderr=True)
    stop = threading.Event()
    show = _bar if console.is_terminal else _lines
    thread = threading.Thread(target=show, args=(plan, console, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(5)


def _estimate(done: int, before: int, total: int, since: float) -> str:
    if done == before:
        return ""
    return time_left((time.monotonic() - since) * (total - done) / (done - before))


def _bar(plan: Plan, console: Console, stop: threading.Event) -> None:
    before, total = units(plan)
    started, suite = time.monotonic(), current()
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        sweep = progress.add_task("all runs", total=suite.runs[1], detail="") if suite else None
        name = f"{plan.method.label} on {plan.table.name}"
        task = progress.add_task(name, total=total, detail="")
        while True:
            finished = stop.wait(INTERVAL)
            done, _ = units(plan)
            left = _estimate(done, before, total, started)
            splits = f"evaluations, {work_done(plan)[0]}/{len(plan.splits)} splits"
            progress.update(task, completed=done, detail=f"{splits}, {left or '?'} left")
            if suite and sweep is not None:
                whole = suite.sentence().partition(" ")[2]
                progress.update(sweep, completed=suite.runs[0], detail=whole)
            if finished:
                return


def _lines(plan: Plan, console: Console, stop: threading.Event) -> None:
    before, total = units(plan)
    started, reported = time.monotonic(), work_done(plan)[0]
    while True:
        finished = stop.wait(INTERVAL)
        splits, _, _ = work_done(plan)
        if splits > reported:
            reported = splits
            left = _estimate(units(plan)[0], before, total, started)
            suite = current()
            sweep = f" (all: {suite.sentence()})" if suite else ""
            console.print(
                f"{plan.method.label} on {plan.table.name}: {splits}/{len(plan.splits)} splits, "
                f"{time_left(time.monotonic() - started)} so far, {left or '?'} left{sweep}",
                highlight=False,
                soft_wrap=True,
            )
        if finished:
            return
