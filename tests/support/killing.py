"""Helpers for tests that kill runs on other machines."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import MACHINE_COLUMNS
from bnnbench.experiment.split_search import TRIALS, TrialLog

# Overrides of a run that is long enough to be killed during the search.
LONG_RUN = ("splits=4", "search.iterations=8", "training.epochs=400", "device=cpu")
WAIT = 240.0  # timeout in seconds, for a busy machine

Finished = tuple[RunFolder, pd.DataFrame]
"""Return value of `tiny_runs.finished`."""


def assert_same_results(actual: Finished, expected: Finished) -> None:
    """Assert that all results of two runs are equal, except times and hardware."""
    folders = actual[0], expected[0]
    splits = [table.drop(columns=MACHINE_COLUMNS) for table in (actual[1], expected[1])]
    pd.testing.assert_frame_equal(*splits, check_exact=True)
    times = ["seconds", "suggest_seconds"]
    searches = [pd.read_csv(folder.table("search")).drop(columns=times) for folder in folders]
    pd.testing.assert_frame_equal(*searches, check_exact=True)
    a_file, b_file = (folder.arrays("predictions") for folder in folders)
    with np.load(a_file) as a, np.load(b_file) as b:
        assert a.files == b.files
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name])


def evaluations(outputs: Path) -> int:
    """Count the evaluations of objectives in the logs of all searches."""
    return sum(TrialLog.count(path) for path in outputs.rglob(f"*.{TRIALS}"))


def wait_for(outputs: Path, count: int) -> None:
    """Wait until searches have made `count` evaluations."""
    deadline = time.monotonic() + WAIT
    while evaluations(outputs) < count:
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.02)


def in_thread(function: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread
