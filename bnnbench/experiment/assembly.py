"""From the saved pieces of a run to its tables."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bnnbench.experiment import trial_log
from bnnbench.experiment.plan import Plan
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_atomically, write_text

LIBRARIES = (
    "bnnbench",
    "torch",
    "numpy",
    "scikit-optimize",
    "scikit-learn",
    "hydra-core",
    "pandas",
)


def assemble(plan: Plan) -> None:
    """Writes splits.csv, search.csv, predictions and traces from the pieces, in order."""
    folder = plan.folder
    rows = [json.loads(folder.scores(k).read_text()) for k in plan.splits]
    _write_csv(folder.splits, pd.DataFrame(rows))
    _write_csv(folder.search, _search_table(plan))
    evaluation = plan.evaluation
    _merge(folder.predictions, map(folder.split_predictions, plan.splits))
    if evaluation.out_of_fold:
        _merge(folder.out_of_fold, map(folder.split_out_of_fold, plan.splits))
    if evaluation.training_part:
        _merge(folder.training, map(folder.split_training, plan.splits))
    traces = [folder.split_objective(k) for k in plan.splits]
    # A method that is not trained by minibatch steps has no objective to record.
    if evaluation.trace and all(trace.exists() for trace in traces):
        _merge(folder.objective, traces)


def _merge(whole: Path, parts: Iterable[Path]) -> None:
    """Joins the arrays of `parts`, name by name."""
    pieces = []
    for path in parts:
        with np.load(path) as piece:
            pieces.append({name: piece[name] for name in piece.files})
    merged = {name: np.concatenate([p[name] for p in pieces]) for name in pieces[0]}
    write_atomically(whole, lambda file: np.savez_compressed(file, **merged))  # type: ignore[arg-type]


def _search_table(plan: Plan) -> pd.DataFrame:
    rows = [
        {
            "split": k,
            "iteration": i,
            **{f"hp.{name}": value for name, value in trial.values.items()},
            "objective": trial.objective,
            **{f"fold_{f}": score for f, score in enumerate(trial.folds)},
            "diverged": int(trial.diverged),
            "seconds": trial.seconds,
            "suggest_seconds": trial.suggest_seconds,
        }
        for k in plan.splits
        for i, trial in enumerate(trial_log.read(plan.folder.journal(k)))
    ]
    columns = ["split", "iteration", "objective", "seconds"]
    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=columns)


def _write_csv(path: Path, table: pd.DataFrame) -> None:
    # Shortest exact representation: reading the file back gives the same bits.
    write_text(path, table.to_csv(index=False))


def write_environment(folder: RunFolder, plan: Plan) -> None:
    """Records what the numbers were computed with."""
    cuda = torch.cuda.get_device_name() if plan.device == "cuda" else None
    facts = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "workers": plan.workers,
        "device": cuda or "cpu",
        "commit": _commit(),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    write_text(folder.environment, json.dumps(facts, indent=2) + "\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str | None:
    """The source checkout's commit, with `+` if it was edited; None outside a checkout."""
    source = Path(__file__).parents[2]
    if not (source / ".git").exists():
        return None

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(source), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def plain(config: Mapping[str, Any]) -> str:
    """The configuration as YAML text."""
    from omegaconf import OmegaConf

    return OmegaConf.to_yaml(OmegaConf.create(dict(config)), sort_keys=False)
