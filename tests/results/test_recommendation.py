"""Recommendations in words."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.recommendation import SCORE, Coverage, sentences
from bnnbench.results.verdict import Verdict


def in_words(others: dict[str, tuple[str, float, float]], *untested: str) -> list[str]:
    """Return the sentences on `gp`, given `outcome`, `low` and `high` of the others."""
    names = pd.Index(["gp", *others, *untested])
    scores = pd.DataFrame({f"{SCORE.key}_mean": -1.5, f"{SCORE.key}_stderr": 0.05}, names)
    columns = ["outcome", "low", "high"]
    table = pd.DataFrame.from_dict(others, "index", columns=columns).assign(diverged=0)
    table["difference"] = (table["low"] + table["high"]) / 2
    coverage = Coverage(0.87, (0.9, 0.9, 0.8))
    return [*sentences(Verdict("houses", SCORE, scores, table), names.to_series(), coverage, {})]


def test_the_best_comes_first_with_its_score_and_calibration() -> None:
    first, last = in_words({})
    assert first.startswith("houses: gp has the best log-likelihood, -1.500 ± 0.050")
    assert "87%" in last


def test_rivals_are_tied_worse_or_not_compared() -> None:
    others = {
        "vadam": ("undecided", -0.3, 0.1),
        "pbp": ("equivalent", -0.008, 0.002),
        "linear": ("worse", -0.4, -0.2),
        "boosting": ("worse", -0.7, -0.5),
    }
    _, tied, worse, missing, _ = in_words(others, "map")
    assert tied.endswith(
        ": pbp (equivalent, -0.0030 [-0.0080, 0.0020]) and vadam (undecided, -0.10 [-0.30, 0.10])."
    )
    assert worse.startswith("Significantly worse") and worse.endswith(": linear and boosting.")
    assert "3 common splits" in missing and missing.endswith(": map.")
