"""Recommendations in words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bnnbench.results.compare.outcomes import Verdict
from bnnbench.results.compare.recommendation import (
    SCORE,
    Coverage,
    methods_table,
    recommended,
    sentences,
)


def verdict_on(others: dict[str, tuple[str, float, float]], *untested: str) -> Verdict:
    """Return the verdict that `gp` is best, given `outcome`, `low` and `high` of the others.

    The first takes the most time.
    """
    names = pd.Index(["gp", *others, *untested])
    scores = pd.DataFrame(
        {f"{key}_{kind}": 0.05 for key in (SCORE.key, "rmse") for kind in ("mean", "stderr")}, names
    )
    scores[f"{SCORE.key}_mean"] = -1.5
    scores["total_seconds_mean"] = np.arange(len(names), 0.0, -1)
    columns = ["outcome", "low", "high"]
    table = pd.DataFrame.from_dict(others, "index", columns=columns).assign(diverged=0)
    table["difference"] = (table["low"] + table["high"]) / 2
    return Verdict("houses", SCORE, scores, table)


def in_words(verdict: Verdict) -> list[str]:
    names, coverage = verdict.scores.index.to_series(), Coverage(0.87, (0.9, 0.9, 0.8))
    return [*sentences(verdict, names, coverage, {})]


def test_the_best_is_named_with_its_score_and_calibration() -> None:
    first, best, last = in_words(verdict_on({}))
    assert first.startswith("houses: use gp")
    assert best.startswith("gp has the best log-likelihood, -1.500 ± 0.050")
    assert "87%" in last


def test_rivals_that_are_not_worse_are_listed() -> None:
    verdict = verdict_on(
        {
            "vadam": ("undecided", -0.3, 0.1),
            "pbp": ("equivalent", -0.008, 0.002),
            "linear": ("worse", -0.4, -0.2),
            "boosting": ("worse", -0.7, -0.5),
        },
        "map",
    )
    _, _, tied, _ = in_words(verdict)
    assert tied.endswith(
        ": pbp (equivalent, -0.0030 [-0.0080, 0.0020]) and vadam (undecided, -0.10 [-0.30, 0.10])."
    )


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], "gp"),
        (["undecided"], "m0"),
        (["undecided", "equivalent", "worse"], "m1"),
        (["worse", "undecided", "not tested"], "m1"),
        (["worse", "worse"], "gp"),
        (["undecided"] * 7, "m6"),
    ],
)
def test_the_fastest_that_is_not_worse_is_recommended(outcomes: list[str], expected: str) -> None:
    others = {f"m{k}": (outcome, -0.1, 0.1) for k, outcome in enumerate(outcomes)}
    verdict = verdict_on(others, "untested")
    assert recommended(verdict) == expected
    first, best, *_, last = in_words(verdict)
    assert f"use {expected} (" in first and best.startswith("gp has") and expected in last


def test_the_table_has_all_methods() -> None:
    verdict = verdict_on({"pbp": ("worse", -0.4, -0.2)}, "map")
    coverages = {"gp": Coverage(0.87, (0.9, 0.9, 0.8)), "pbp": None, "map": None}
    table = methods_table(verdict, verdict.scores.index.to_series(), coverages)
    assert table.index.tolist() == ["gp", "pbp", "map"]
    assert table["outcome"].tolist() == ["best", "worse", "not compared"]
    assert table["seconds"].tolist() == [3, 2, 1] and table.at["gp", "coverage_90"] == 0.87
    assert table["coverage_90"].isna().tolist() == [False, True, True]
