"""UCI data: a short check, and the published numbers as a slow test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from support.command import Command, result_folder
from support.config import compose
from support.tiny_runs import finished

from bnnbench.config.assemble import build
from bnnbench.results.published.counterparts import COUNTERPARTS
from bnnbench.results.published.values import published_values


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize("method", ["vadam", "bbb", "mc_dropout"])
def test_a_boston_split_beats_linear_regression(tmp_path: Path, method: str) -> None:
    """After a short search, error and likelihood are better than those of least squares."""
    short = ("search.iterations=14", "search.initial_points=5", "training.final_epochs=40")
    words = (f"method={method}", "dataset=boston", "splits=1", "workers=1", *short)
    run = build(compose(*words, "evaluation.out_of_fold=false", f"outputs_dir={tmp_path}"))
    _, rows = finished(run)
    table = run.experiment.table  # type: ignore[attr-defined]
    for split, (_, row) in zip(table.splits, rows.iterrows(), strict=False):
        x, y = table.inputs, table.targets
        model = LinearRegression().fit(x[split.train], y[split.train])
        variance = np.mean((y[split.train] - model.predict(x[split.train])) ** 2)
        square = (y[split.test] - model.predict(x[split.test])) ** 2
        density = -0.5 * np.log(2 * np.pi * variance) - 0.5 * square / variance
        assert row["rmse"] < np.sqrt(square.mean())
        assert row["log_likelihood"] > density.mean()


@pytest.mark.slow
@pytest.mark.parametrize("dataset", ["boston", "concrete", "energy", "yacht"])
@pytest.mark.parametrize("method", ["vadam", "bbb"])
def test_published_rmse_is_within_two_combined_standard_errors(
    command: Command, tmp_path: Path, dataset: str, method: str
) -> None:
    _, out, _ = command(
        "run", f"method={method}", f"dataset={dataset}", f"outputs_dir={tmp_path / 'out'}"
    )
    summary = pd.read_csv(result_folder(out).table("summary")).set_index("metric").loc["rmse"]
    theirs = published_values()[(dataset, "rmse", COUNTERPARTS[method][0])]
    z = (summary["mean"] - theirs.mean) / np.hypot(summary["stderr"], theirs.stderr)
    assert abs(z) < 2
