"""Tiny runs without pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.config.assemble import build
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import SPLITS
from support.config import TINY, compose

SCORES = ["rmse", "log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian", "crps"]


Planner = Callable[..., Run]
"""Type of the fixture `tiny`."""


def tiny_run(table: Path, outputs: Path, *overrides: str) -> Run:
    """Build a run on a small table."""
    base = ["dataset=csv", f"dataset.path={table}", "dataset.target=y", "workers=1"]
    return build(compose(*base, *TINY, f"outputs_dir={outputs}", *overrides))


def finished(run: Run) -> tuple[RunFolder, pd.DataFrame]:
    """Execute a run and return its folder and `splits.csv`."""
    folder = execute(run)
    return folder, pd.read_csv(folder.table(SPLITS))


def with_experiment(run: Run, **changes: Any) -> Run:
    """Return the run with other values of some fields of its experiment."""
    return replace(run, experiment=replace(run.experiment, **changes))
