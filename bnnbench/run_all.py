"""Runs experiments one after the other: the loop of `run`, `reproduce`, `recommend` and `fit`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import NoReturn

from bnnbench.experiment.execution import execute, shared_engine
from bnnbench.experiment.progress import SweepProgress
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.types import UserError


def _raise(error: UserError) -> NoReturn:
    raise error


def run_all(
    runs: Sequence[Run],
    on_finished: Callable[[RunFolder], object] = lambda folder: None,
    on_error: Callable[[UserError], object] = _raise,
    say: Callable[[str], object] = lambda message: None,
) -> list[RunFolder]:
    """Execute runs on the engine that they are configured with, and write their pages.

    Args:
        runs: to execute, in this order; several share one engine.
        on_finished: called with the folder of each run that is complete.
        on_error: called with the error of a run; the others continue unless it raises.
        say: called with messages about the status of a run and about slow preparations.

    Returns:
        The folders of the runs without an error.

    Raises:
        UserError: if the engine cannot be used.
    """
    sweep = SweepProgress(runs) if len(runs) > 1 else None
    folders = []
    with shared_engine(runs, say) as engine:
        for run in runs:
            try:
                folder = execute(run, partial(_write_page, run), sweep, say, _load_pages, engine)
                on_finished(folder)
                folders.append(folder)
            except UserError as error:
                on_error(error)
    return folders


def _load_pages() -> None:
    """Import what pages need: matplotlib is slow, and unused until a run is finished."""
    import_module("bnnbench.report.run_output")


def _write_page(run: Run, folder: RunFolder) -> Sequence[str]:
    from bnnbench.report.run_output import run_output_writer

    return run_output_writer(run)(folder)
