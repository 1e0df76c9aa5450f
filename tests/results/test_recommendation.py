"""Recommendations in words."""

from __future__ import annotations

from bnnbench.results.recommendation import Coverage, Recommendation, Rival


def sentences(*rivals: Rival, incomparable: tuple[str, ...] = ()) -> list[str]:
    best = Recommendation("houses", "gp", "digest", (-1.5, 0.05), rivals, incomparable)
    return best.sentences(Coverage(0.87, (0.9, 0.9, 0.8)))


def test_the_best_comes_first_with_its_score_and_calibration() -> None:
    first, last = sentences()
    assert first.startswith("houses: gp has the best log-likelihood, -1.500 ± 0.050")
    assert "87%" in last


def test_rivals_are_tied_worse_or_not_compared() -> None:
    _, tied, worse, missing, _ = sentences(
        Rival("pbp", 0.01, 0.97, 0.02),
        Rival("vadam", 0.8, 0.1, 0.1),
        Rival("linear", 0.99, 0.01, 0.0),
        Rival("boosting", 1.0, 0.0, 0.0),
        incomparable=("map",),
    )
    assert tied.endswith(
        ": pbp (equal within 0.01 nats with probability 0.97) and vadam (worse with probability "
        "0.80)."
    )
    assert "95%" in worse and worse.endswith(": linear and boosting.")
    assert "3 common splits" in missing and missing.endswith(": map.")
