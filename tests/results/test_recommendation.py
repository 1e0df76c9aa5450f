"""Recommendations in words."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.recommendation import SCORE, Coverage, sentences
from bnnbench.results.verdict import Verdict


def in_words(others: dict[str, tuple[str, float, float]], *untested: str) -> list[str]:
    """Return the sentences on `gp`, given `outcome`, `p_equivalent` and `p_worse` of the others."""
    names = pd.Index(["gp", *others, *untested])
    scores = pd.DataFrame({f"{SCORE.key}_mean": -1.5, f"{SCORE.key}_stderr": 0.05}, names)
    columns = ["outcome", "p_equivalent", "p_worse"]
    table = pd.DataFrame.from_dict(others, "index", columns=columns).assign(diverged=0)
    coverage = Coverage(0.87, (0.9, 0.9, 0.8))
    return [*sentences(Verdict("houses", SCORE, scores, table), names.to_series(), coverage, {})]


def test_the_best_comes_first_with_its_score_and_calibration() -> None:
    first, last = in_words({})
    assert first.startswith("houses: gp has the best log-likelihood, -1.500 ± 0.050")
    assert "87%" in last


def test_rivals_are_tied_worse_or_not_compared() -> None:
    others = {
        "vadam": ("undecided", 0.1, 0.8),
        "pbp": ("equivalent", 0.97, 0.01),
        "linear": ("worse", 0.01, 0.99),
        "boosting": ("worse", 0.0, 1.0),
    }
    _, tied, worse, missing, _ = in_words(others, "map")
    assert tied.endswith(
        ": pbp (equal within 0.01 nats with probability 0.97) and vadam (worse with probability "
        "0.80)."
    )
    assert "95%" in worse and worse.endswith(": linear and boosting.")
    assert "3 common splits" in missing and missing.endswith(": map.")
