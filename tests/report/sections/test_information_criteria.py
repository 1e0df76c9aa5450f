"""Information criteria, compared with values computed by hand."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from support.grids import make_grid

from bnnbench.report.sections.information_criteria import criteria, criteria_table
from bnnbench.results.reader import read_runs


def test_criteria_of_one_split() -> None:
    split = {"train_log_likelihood": [-2.0], "training_rows": [50], "parameters": [7]}
    (row,) = criteria(pd.DataFrame(split)).to_dict("records")
    assert row == pytest.approx({
        "neg_log_likelihood": 100, "bic": 7 * math.log(50) + 200, "aic": 214,
        "hqc": 14 * math.log(math.log(50)) + 200,
    })  # fmt: skip


def test_criteria_need_scores_of_training_rows(tmp_path: Path) -> None:
    make_grid(tmp_path, {"kl": 5})
    assert criteria_table(read_runs(tmp_path)).empty
    scored = {"train_log_likelihood": [-2.0, -2.0, -2.0, -4.0], "training_rows": 50}
    make_grid(tmp_path, {"js": 5}, parameters=7, dataset="gp_sample", **scored)
    (row,) = criteria_table(read_runs(tmp_path)).to_dict("records")
    assert (row["rows"], row["parameters"], row["neg_log_likelihood"]) == (50, 7, 125)
    assert row["aic"] == 14 + 250


def test_a_run_that_diverged_on_every_split_has_missing_values(tmp_path: Path) -> None:
    scored = {"train_log_likelihood": float("nan"), "training_rows": 50, "parameters": 7}
    make_grid(tmp_path, {"js": 5}, diverged=1, **scored)
    (row,) = criteria_table(read_runs(tmp_path)).to_dict("records")
    assert (row["rows"], row["parameters"]) == (50, 7) and math.isnan(row["bic"])
