"""Runs so small that hundreds of them are tested, through everything but their pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.cli.build import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import SPLITS
from bnnbench.experiment.sweep_progress import SweepProgress
from support.config import TINY, compose

SCORES = ["rmse", "log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian", "crps"]


def tiny_run(table: Path, outputs: Path, *overrides: str) -> Run:
    """A checked run on a small table."""
    base = ["dataset=csv", f"dataset.path={table}", "dataset.target=y", "workers=1"]
    return build(compose(*base, *TINY, f"outputs_dir={outputs}", *overrides))


def no_page(folder: RunFolder) -> None:
    """In place of figures and summaries, which a test of numbers does not look at."""


def finished(run: Run, sweep: SweepProgress | None = None) -> tuple[RunFolder, pd.DataFrame]:
    """Its folder once it has run, and the rows of `splits.csv`."""
    folder = execute(run, no_page, sweep)
    return folder, pd.read_csv(folder.table(SPLITS))


def with_experiment(run: Run, **changes: Any) -> Run:
    """The same run of an experiment that differs in some fields."""
    from dataclasses import replace

    return replace(run, experiment=replace(run.experiment, **changes))
