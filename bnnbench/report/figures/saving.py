"""Draws the figures of a page and saves them, in several processes where that is safe."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import FIGURES
from bnnbench.report.figures.canvas import save

Draw = Callable[[], Figure]
Work = Callable[[], None]

MADE_FOR_FORKS = {"jemalloc_bg_thd\n"}
"""The thread of an allocator that pandas brings in where it finds pyarrow."""


def save_all(
    drawings: Mapping[str, Draw],
    path_of: Callable[[str, str], Path],
    suffixes: Sequence[str] = FIGURES["both"],
    processes: int = 1,
) -> None:
    """Draws and saves figures.

    Args:
        drawings: what draws each of them, by its name.
        path_of: where the figure of some name goes, with some suffix.
        suffixes: of the files wanted, as for `canvas.save`.
        processes: that may draw side by side, this one included.

    Raises:
        Exception: what a drawing raises, whichever process it is in.
    """
    works = [
        partial(_save, draw, partial(path_of, name), suffixes) for name, draw in drawings.items()
    ]
    count = min(processes, len(works)) if is_alone() else 1
    if count < 2:
        _do(works)
    else:
        _do_in_parts([works[part::count] for part in range(count)])


def save_for_page(
    drawings: Mapping[str, Draw],
    path_of: Callable[[str, str], Path] | None = None,
    suffixes: Sequence[str] = (),
    processes: int = 1,
) -> dict[str, str]:
    """Draws figures once, saves them as `save_all` does and returns them for a page.

    Args:
        drawings: as there.
        path_of: as there; None saves nothing.
        suffixes: as there.
        processes: as there.

    Returns:
        The `<svg>` element of each, by name.
    """
    with tempfile.TemporaryDirectory() as aside:

        def place(name: str, suffix: str) -> Path:
            if path_of is None or suffix == "svg":
                return Path(aside) / f"{name}.{suffix}"
            return path_of(name, suffix)

        save_all(drawings, place, (*suffixes, "svg"), processes)
        return {name: place(name, "svg").read_text("utf-8") for name in drawings}


def is_alone() -> bool:
    """Whether this process may be forked: a fork copies locks of threads, and not the threads."""
    try:
        tasks = [*Path("/proc/self/task").iterdir()] if sys.platform == "linux" else []
        others = {(task / "comm").read_text() for task in tasks if task.name != str(os.getpid())}
    except OSError:  # a thread that has just ended
        return False
    return bool(tasks) and others <= MADE_FOR_FORKS


def _save(draw: Draw, path_of: Callable[[str], Path], suffixes: Sequence[str]) -> None:
    save(draw(), path_of, suffixes)


def _do(works: Sequence[Work]) -> None:
    for work in works:
        work()


def _do_in_parts(parts: Sequence[Sequence[Work]]) -> None:
    """Does one part in this process, and each of the others in a child that is forked for it."""
    fork = multiprocessing.get_context("fork")
    mine, *others = parts
    children = []
    for part in others:
        ours, theirs = fork.Pipe(duplex=False)
        child = fork.Process(target=_begin, args=(part, theirs), daemon=True)
        child.start()
        theirs.close()
        children.append((child, ours, part))
    try:
        _do(mine)
        for _, ours, part in children:
            _end(ours, part)
    finally:
        for child, ours, _ in children:
            child.kill()  # of no effect on one that is through
            child.join()
            ours.close()


def _begin(works: Sequence[Work], word: Connection) -> None:
    """What a child does: its part, of which it leaves word."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    met = None
    try:
        _do(works)
    except Exception as error:
        met = error
    with suppress(Exception):  # an error that cannot be sent comes again where it can be raised
        word.send(met)


def _end(word: Connection, works: Sequence[Work]) -> None:
    """Waits for a child and raises what it met; the part of one that was killed is done here."""
    try:
        met = word.recv()
    except Exception:  # no word, or one that cannot be read
        met = None
        _do(works)
    if met is not None:
        raise met
