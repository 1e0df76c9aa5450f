"""Claims about the choice of rows, on made-up curves with known gains."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from support.decisions import settled

from bnnbench.results.claims.claims import NotTestable
from bnnbench.results.claims.mean_tests import check_positive
from bnnbench.suites.active_learning.page import beats_random, gains, none_beats_distance


def curves(method: str, variance: float, distance: float = 0.9) -> pd.DataFrame:
    """Twelve repetitions whose RMSE is 1 at the start, and then a level of each rule."""
    levels = {"random": 1.0, "variance": variance, "distance": distance}
    noise = np.random.default_rng(0).normal(scale=0.01, size=12)
    return pd.DataFrame(
        [
            {"run": method, "dataset": "made", "method": method, "repetition": k, "arm": arm,
             "labels": labels, "rmse": 10 * (level if labels > 20 else 1) + noise[k] * len(arm)}
            for k in range(12) for arm, level in levels.items() for labels in (20, 21, 22)
        ]
    )  # fmt: skip


def test_gains_are_fractions_of_the_other_rule_without_the_start() -> None:
    table = curves("pbp", variance=0.8)
    table.loc[(table["repetition"] == 3) & (table["labels"] == 22), "rmse"] = np.nan
    found = gains(table, "random")
    assert len(found) == 11 and found.mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(("level", "holds"), [(0.8, True), (1.0, None), (1.2, False)])
def test_the_variance_must_beat_chance(level: float, holds: bool | None) -> None:
    assert settled(beats_random(curves("pbp", level), "pbp")[0]) is holds
    with pytest.raises(NotTestable):
        beats_random(curves("pbp", level), "hmc")


def test_methods_that_are_no_networks_may_beat_the_distance() -> None:
    worse, better = curves("bbb", 0.95), curves("pbp", 0.8)
    others = [curves("gp", 0.5), curves("map", 0.5)]
    assert none_beats_distance(pd.concat([worse, *others]))[0] is True
    holds, evidence = none_beats_distance(pd.concat([worse, better]))
    assert holds is False and evidence.startswith("1 of 2") and "pbp" in evidence


def test_a_gain_that_is_significant_but_within_the_margin_confirms_the_claim() -> None:
    small = curves("bbb", 0.9 * 0.995)
    assert check_positive(gains(small, "distance"), "repetitions", "gain")[0] is True
    assert none_beats_distance(small)[0] is True


def test_a_network_whose_interval_reaches_beyond_the_margin_decides_nothing() -> None:
    unclear = curves("bbb", 0.9)
    unclear["rmse"] += 2 * np.random.default_rng(1).standard_normal(len(unclear))
    assert settled(none_beats_distance(pd.concat([curves("pbp", 0.95), unclear]))[0]) is None
