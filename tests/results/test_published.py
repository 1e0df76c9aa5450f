"""Published values: which run they stand beside, and how far ours are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs import make_run, names_of, of_order

from bnnbench.results.published import (
    COUNTERPARTS,
    UNPUBLISHED,
    counterpart,
    published,
    with_published,
    z_score,
)
from bnnbench.results.reader import read_runs


def test_published_values_and_their_standard_errors() -> None:
    vadam = counterpart(names_of(method="vadam"), "rmse")
    assert vadam is not None
    assert (vadam.mean, vadam.stderr) == (3.85754, 0.26262)
    assert vadam.source == "Khan et al. 2018: Vadam"
    dropout = counterpart(names_of(method="mc_dropout_x1"), "log_likelihood")
    assert dropout is not None and dropout.mean == -2.460037
    ensembles = published().query("metric == 'rmse' and error_kind == 'std'").iloc[0]
    assert ensembles["stderr"] == pytest.approx(ensembles["error"] / math.sqrt(20))
    rounded = counterpart(names_of(method="pbp", dataset="kin8nm"), "rmse")
    assert rounded is not None and math.isnan(rounded.stderr)


@pytest.mark.parametrize("family", COUNTERPARTS)
def test_every_family_has_a_published_value(family: str) -> None:
    metrics = ("rmse", "log_likelihood", "log_likelihood_joint")
    assert any(counterpart(names_of(method=family), metric) for metric in metrics)


@pytest.mark.parametrize(
    "other",
    [
        {"depth": 2},
        of_order("renyi", 0.5),
        {"dataset": "protein"},
        {"likelihood": "heteroscedastic"},
        {"loss": "beta"},
        {"method": "deep_ensemble"},
        *({"method": name} for name in UNPUBLISHED),
    ],
)
def test_only_like_is_compared_with_like(other: dict[str, Any]) -> None:
    assert counterpart(names_of(method="vadam"), "rmse") is not None
    assert counterpart(names_of(**{"method": "vadam", **other}), "rmse") is None


def test_the_two_log_likelihoods_are_kept_apart() -> None:
    assert counterpart(names_of(), "log_likelihood") is None
    joint = counterpart(names_of(), "log_likelihood_joint")
    assert joint is not None and "SLANG" in joint.method


def test_z_counts_combined_standard_errors(tmp_path: Path) -> None:
    assert z_score(5, 3, 15, 4) == -2
    assert math.isnan(z_score(5, 3, 15, math.nan))
    assert math.isnan(z_score(5, 0, 15, 0))
    make_run(tmp_path)
    make_run(tmp_path, "deep", depth=2)
    table = with_published(read_runs(tmp_path).scored).set_index("depth")
    row = table.loc[1]
    assert row["rmse_z"] == pytest.approx((5 - 3.58808) / math.sqrt(14 / 12 + 0.20933**2))
    assert math.isnan(row["log_likelihood_z"]) and row["log_likelihood_source"] == ""
    assert np.isnan(table.loc[2, "rmse_published"])
