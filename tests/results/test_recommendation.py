"""Which method to take, in words."""

from __future__ import annotations

from bnnbench.results.recommendation import Recommendation, Rival


def of(*rivals: Rival, incomparable: tuple[str, ...] = ()) -> list[str]:
    found = Recommendation("houses", "gp", "digest", (-1.5, 0.05), rivals, incomparable)
    return found.sentences({"digest": 0.87})


def test_the_best_stands_first_with_its_score_and_calibration() -> None:
    first, last = of()
    assert first.startswith("houses: gp has the best log-likelihood, -1.500 ± 0.050")
    assert last == "The 90 % intervals of gp hold 87% of the test targets."


def test_rivals_are_level_equal_or_worse() -> None:
    said = of(
        Rival("pbp", 0.01, 0.97, 0.02),
        Rival("vadam", 0.8, 0.1, 0.1),
        Rival("linear", 0.99, 0.01, 0.0),
        Rival("boosting", 1.0, 0.0, 0.0),
        incomparable=("map",),
    )
    assert said[1] == (
        "It may as well be pbp (equal within 0.01 nats with probability 0.97) "
        "or vadam (worse with probability 0.80)."
    )
    assert said[2] == "linear and boosting are worse, with more than 95%."
    assert said[3] == "Of map nothing can be said."
