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

STORED = Path(__file__).parents[1] / "docs" / "results" / "book_uci" / "results.csv"


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
@pytest.mark.parametrize("method", ["vadam", "bbb_x1"])
def test_stored_scores_are_what_this_code_gives(
    command: Command, tmp_path: Path, dataset: str, method: str
) -> None:
    """`docs/results` compares them with published scores."""
    _, out, _ = command(
        "run", f"method={method}", f"dataset={dataset}", f"outputs_dir={tmp_path / 'out'}"
    )
    summary = pd.read_csv(result_folder(out).table("summary")).set_index("metric")
    stored = pd.read_csv(STORED).set_index(["method", "dataset"]).loc[(method, dataset)]
    for metric in ("rmse", "log_likelihood", "crps"):
        for statistic in ("mean", "stderr"):
            expected = pytest.approx(stored[f"{metric}_{statistic}"], rel=1e-6)
            assert summary.at[metric, statistic] == expected
