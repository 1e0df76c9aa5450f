"""Runs experiments one after the other: the loop of `run`, `reproduce`, `recommend` and `fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import NoReturn

from bnnbench.cpp.library import Library, library
from bnnbench.experiment.execution import execute, shared_engine
from bnnbench.experiment.progress import SweepProgress
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import Page, RunFolder
from bnnbench.experiment.run_status import missing_figures
from bnnbench.forks import stop_joblib
from bnnbench.portable_math import numpy_defaults
from bnnbench.types import UserError


def _raise(error: UserError) -> NoReturn:
    raise error


@numpy_defaults()
def run_all(
    runs: Sequence[Run],
    on_finished: Callable[[RunFolder], object] = lambda folder: None,
    on_error: Callable[[UserError], object] = _raise,
    say: Callable[[str], object] = lambda message: None,
) -> list[RunFolder]:
    """Execute runs on the engine that they are configured with, and write their pages.

    The figures of several runs are drawn in parallel when all runs are finished. If the command is
    interrupted, the next one draws them.

    Args:
        runs: to execute, in this order; several share one engine.
        on_finished: called with the folder of each run that is complete.
        on_error: called with the error of a run; the others continue unless it raises.
        say: called with messages about native code and the status of a run.

    Returns:
        The folders of the runs without an error.

    Raises:
        UserError: if the engine cannot be used.
    """
    sweep = SweepProgress(runs) if len(runs) > 1 else None
    folders = []
    report_missing_library(runs, say)
    with shared_engine(runs) as engine:
        for run in runs:
            try:
                page = partial(_write_page, run, draw=sweep is None)
                folder = execute(run, page, sweep, say, _load_pages, engine)
                on_finished(folder)
                folders.append(folder)
            except UserError as error:
                on_error(error)
    if sweep:
        for failed in _draw_figures(runs, say):
            on_error(failed)
    return folders


def report_missing_library(runs: Sequence[Run], say: Callable[[str], object]) -> None:
    """Compile the native code that unfinished runs use, or say how slow they are without it."""
    unfinished = [run for run in runs if run.unfinished_units() or not run.resume]
    here = [run for run in unfinished if not run.engine.remote]
    loaded = library() if here else Library(enabled=False)
    if loaded.enabled and not loaded.code:
        from bnnbench.results.slowdown import describe_slowdown

        say(describe_slowdown(loaded.reason))


def _load_pages() -> None:
    """Import what pages need: matplotlib is slow, and unused until a run is finished."""
    import_module("bnnbench.report.run_output")


def _write_page(run: Run, folder: RunFolder, draw: bool) -> Page:
    from bnnbench.report.run_output import run_output_writer

    return run_output_writer(run, draw)(folder)


def _draw_figures(runs: Sequence[Run], say: Callable[[str], object]) -> Sequence[UserError]:
    """Draw the missing figures of a sweep, when its engine has stopped, and return the errors."""
    lacking = [run for run in runs if missing_figures(run, run.folder.finished())]
    if not lacking:
        return []
    from bnnbench.report.run_output import draw_missing_figures

    stop_joblib()  # which searches for lockstep experiments
    say(f"drawing the figures of {len(lacking)} run{'s' * (len(lacking) > 1)}")
    return draw_missing_figures(lacking)
