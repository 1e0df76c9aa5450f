"""Runs experiments one after the other: the loop of `run`, `reproduce`, `recommend` and `fit`.

A run on splits gets its derived tables before it is finished, and its page after the last run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from bnnbench.cpp.library import Library, library
from bnnbench.experiment.run.execution import execute, shared_engine
from bnnbench.experiment.run.progress import SweepProgress
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits.split_plan import SplitPlan
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import KIND
from bnnbench.files import write_text
from bnnbench.forks import stop_joblib
from bnnbench.identity import has_own_code
from bnnbench.portable_math import numpy_defaults
from bnnbench.results.read.run_files import (
    CALIBRATION,
    read_out_of_fold,
    read_splits,
    read_test_points,
)
from bnnbench.results.read.split_means import summarise
from bnnbench.results.score.calibration import calibration_table
from bnnbench.types import UserError

SUMMARY = "summary"
"""Table with every metric averaged over the splits."""


def _raise(error: UserError) -> NoReturn:
    raise error


@numpy_defaults()
def run_all(
    runs: Sequence[Run],
    on_finished: Callable[[RunFolder], object] = lambda folder: None,
    on_error: Callable[[UserError], object] = _raise,
    say: Callable[[str], object] = lambda message: None,
) -> list[RunFolder]:
    """Execute runs on the engine that they are configured with, then write their pages.

    A run is finished when its tables are. If the command is interrupted, the next one writes what
    is missing of the pages. A failure to write them is reported, not raised.

    Args:
        runs: to execute, in this order; several share one engine.
        on_finished: called with the folder of each run that is complete.
        on_error: called with the error of a run; the others continue unless it raises.
        say: called with messages about native code, the status of a run and its page.

    Returns:
        The folders of the runs without an error.

    Raises:
        UserError: if the engine cannot be used.
    """
    sweep = SweepProgress(runs) if len(runs) > 1 else None
    finished: list[Run] = []
    report_slow_training(runs, say)
    with shared_engine(runs) as engine:
        for run in runs:
            try:
                folder = execute(run, write_derived_tables, sweep, say, _load_pages, engine)
                on_finished(folder)
                finished.append(run)
            except UserError as error:
                on_error(error)
    _write_pages(finished, say)
    return [run.folder for run in finished]


def report_slow_training(runs: Sequence[Run], say: Callable[[str], object]) -> None:
    """Compile the native code that unfinished runs use, or say how slow they are without it.

    Also say which methods cannot use it because of the user's classes, once for each method.
    """
    unfinished = [run for run in runs if run.unfinished_units() or not run.resume]
    here = [
        run
        for run in unfinished
        if not run.engine.remote and getattr(run.experiment, "uses_native", True)
    ]
    loaded = library() if here else Library(enabled=False)
    if loaded.enabled and not loaded.code:
        from bnnbench.results.reference.slowdown import describe_slowdown

        say(describe_slowdown(loaded.reason))
    training = [run.experiment for run in unfinished if isinstance(run.experiment, SplitPlan)]
    methods = [plan.method for plan in training if plan.uses_native and has_own_code(plan.method)]
    if methods:
        from bnnbench.results.reference.slowdown import describe_lost_native

        for sentence in dict.fromkeys(map(describe_lost_native, methods)):
            if sentence:
                say(sentence)


def _load_pages() -> None:
    """Import what pages need: matplotlib is slow, and unused until a run is finished."""
    import_module("bnnbench.report.run_output")


def write_derived_tables(folder: RunFolder) -> list[str]:
    """Write `summary.csv` and `calibration.csv` of a run on splits, and return their names."""
    if read_record(folder).kind != KIND:
        return []
    splits = read_splits(folder)
    tables = {SUMMARY: summarise(splits)}
    points = read_test_points(folder, splits)
    if points is not None:
        tables[CALIBRATION] = calibration_table(points, read_out_of_fold(folder))
    for name, table in tables.items():
        write_text(folder.table(name), table.to_csv(index=False))
    return [folder.table(name).name for name in tables]


def _write_pages(runs: Sequence[Run], say: Callable[[str], object]) -> None:
    """Write the missing parts of the pages of finished runs, after their engine has stopped."""
    from bnnbench.report.run_output import write_pages

    stop_joblib()  # which searches for lockstep experiments
    for error in write_pages(runs):
        say(error)
