"""Progress of a run, read from what is already on disk: there is no channel that could break.

On a terminal a live bar on standard error; elsewhere one plain line per finished split.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bnnbench.experiment import journal
from bnnbench.experiment.plan import Plan

INTERVAL = 0.5  # seconds between looks at the disk


def work_done(plan: Plan) -> tuple[int, int, int]:
    """`(splits finished, evaluations finished, evaluations in all)`."""
    folder = plan.folder
    finished = [folder.scores(k).exists() for k in plan.splits]
    evaluations = sum(
        plan.iterations if done else min(journal.count(folder.journal(k)), plan.iterations)
        for k, done in zip(plan.splits, finished, strict=True)
    )
    return sum(finished), evaluations, plan.iterations * len(plan.splits)


def time_left(seconds: float) -> str:
    """`3 s`, `2 min 05 s`, `1 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _units(plan: Plan) -> tuple[int, int]:
    """Finished and total work; a final fit counts as one evaluation."""
    splits, evaluations, total = work_done(plan)
    return splits + evaluations, total + len(plan.splits)


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
    before, total = _units(plan)
    started = time.monotonic()
    columns = (
        TextColumn("[bold]{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        name = f"{plan.method.label} on {plan.table.name}"
        task = progress.add_task(name, total=total, detail="")
        while True:
            finished = stop.wait(INTERVAL)
            done, _ = _units(plan)
            left = _estimate(done, before, total, started)
            splits = f"evaluations, {work_done(plan)[0]}/{len(plan.splits)} splits"
            progress.update(task, completed=done, detail=f"{splits}, {left or '?'} left")
            if finished:
                return


def _lines(plan: Plan, console: Console, stop: threading.Event) -> None:
    before, total = _units(plan)
    started, reported = time.monotonic(), work_done(plan)[0]
    while True:
        finished = stop.wait(INTERVAL)
        splits, _, _ = work_done(plan)
        if splits > reported:
            reported = splits
            left = _estimate(_units(plan)[0], before, total, started)
            console.print(
                f"{plan.method.label} on {plan.table.name}: {splits}/{len(plan.splits)} splits, "
                f"{time_left(time.monotonic() - started)} so far, {left or '?'} left",
                highlight=False,
                soft_wrap=True,
            )
        if finished:
            return
