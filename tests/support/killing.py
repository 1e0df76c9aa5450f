"""Runs that are killed in the midst, on other machines, and what they have to come to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.experiment import trial_log
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import CIRCUMSTANCES

# Long enough to be killed in the midst of it.
LONGER = ("splits=4", "search.iterations=8", "training.epochs=400", "device=cpu")
WAIT = 240.0  # seconds a step may take on a busy machine

Finished = tuple[RunFolder, pd.DataFrame]
"""What `tiny_runs.finished` returns."""


def same_numbers(found: Finished, expected: Finished) -> None:
    """Every number of two runs' files, circumstances aside."""
    (ours, splits), (theirs, others) = found, expected
    pd.testing.assert_frame_equal(
        splits.drop(columns=CIRCUMSTANCES), others.drop(columns=CIRCUMSTANCES), check_exact=True
    )
    drop = ["seconds", "suggest_seconds"]
    searches = [pd.read_csv(folder.table("search")).drop(columns=drop) for folder in (ours, theirs)]
    pd.testing.assert_frame_equal(*searches, check_exact=True)
    with np.load(ours.arrays("predictions")) as a, np.load(theirs.arrays("predictions")) as b:
        assert a.files == b.files
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name])


def evaluations(outputs: Path) -> int:
    return sum(trial_log.count(path) for path in outputs.rglob(f"*.{trial_log.SUFFIX}"))


def wait_for(outputs: Path, count: int) -> None:
    deadline = time.monotonic() + WAIT
    while evaluations(outputs) < count:
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.02)


def beside(act: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread
