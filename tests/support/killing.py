"""Helpers for tests that kill runs on other machines."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits.split_search import TRIALS, TrialLog
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS
from support.tiny_runs import finished

# Overrides of a run that is long enough to be killed during the search.
LONG_RUN = ("splits=4", "search.iterations=8", "training.epochs=4000", "device=cpu")
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


def kill_driver(engine: EngineSettings, table: Path, outputs: Path, count: int) -> None:
    """Start a run in another process, which is killed after `count` evaluations."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import support.one_thread\n"
        "from pathlib import Path; from dataclasses import replace\n"
        "from support.tiny_runs import finished, tiny_run\n"
        f"from {type(engine).__module__} import {type(engine).__name__}\n"
        "run = tiny_run(Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])\n"
        f"finished(replace(run, engine={engine}))\n"
    )
    words = [code, str(Path(__file__).parents[1]), str(table), str(outputs), *LONG_RUN]
    driver = subprocess.Popen([sys.executable, "-c", *words])
    wait_for(outputs, count)
    driver.kill()
    driver.wait()
    assert evaluations(outputs) < 32


def finished_despite(disturb: Callable[[], None], run: Run) -> Finished:
    """Finish a run while another thread disturbs it."""
    thread = threading.Thread(target=disturb, daemon=True)
    thread.start()
    found = finished(run)
    thread.join(WAIT)
    return found
