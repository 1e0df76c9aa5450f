"""The note on the settings that are the methods' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.runs import make_run

from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference.own_settings import own_settings

pytestmark = pytest.mark.ci


def rows(path: Path, **epochs: int | None) -> pd.DataFrame:
    """Return runs of methods with these final epochs; None: one without a network."""
    for method, count in epochs.items():
        changes: dict[str, Any] = {"settings": {"training__final_epochs": count or 1}}
        make_run(path, method=method, family=method if count else "linear", **changes)
    return read_runs(path).scored


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        (40, {"a": 40, "b": 40}, "final epochs 40 (all)"),
        (400, {"a": 40, "b": 40}, "final epochs 400 (mine (mine)), 40 (others)"),
        (40, {"a": 40, "b": 400, "c": 40}, "final epochs 400 (b), 40 (mine (mine) and others)"),
        (400, {"a": 40, "b": 400, "c": 40}, "final epochs 400 (mine (mine) and b), 40 (others)"),
        (7, {"a": 40, "b": None}, "final epochs 7 (mine (mine)), 40 (others)"),
        (None, {"a": 40}, "final epochs 40 (all)"),
    ],
)
def test_values_are_followed_by_their_methods(
    tmp_path: Path, mine: int | None, theirs: dict[str, int | None], expected: str
) -> None:
    runs = rows(tmp_path / "mine", mine=mine), rows(tmp_path / "theirs", **theirs)
    assert expected in list(own_settings(*runs, " (mine)"))


def own(path: Path, method: str = "mine", **settings: Any) -> pd.DataFrame:
    """Return a run of a user's class."""
    make_run(path, method=method, family=f"own.{method}", settings=settings)
    return read_runs(path).scored


BOUNDS, FIXED = "bounds__dropout", "method__dropout"

SEARCHED = {BOUNDS: [0.1, 0.2]}


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ({FIXED: 0.01}, {FIXED: 0.01}, "dropout 0.01 (all)"),
        ({FIXED: 0.01}, SEARCHED, "dropout 0.01 (mine (mine)), searched (others)"),
        ({FIXED: 0.01}, {}, "dropout 0.01 (all)"),
        (SEARCHED, {}, "bounds of dropout 0.1/0.2 (all)"),
        (SEARCHED, {BOUNDS: [0, 1]}, "bounds of dropout 0.1/0.2 (mine (mine)), 0/1 (others)"),
        ({"method__scale": 3}, {}, "scale 3 (all)"),
        ({"method__prior_precision": 2}, {"bounds__prior_precision": [1, 9]},
         "prior precision 2 (mine (mine)), searched (others)"),
        ({"fixed_original_units__noise_precision": 2}, {},
         "fixed_original_units.noise_precision 2 (all)"),
        ({"method__prior_precision": 2}, {"bounds_original_units__prior_precision": [1, 9]},
         "prior precision 2 (mine (mine)), searched (others)"),
        ({"method__divergence": "renyi"}, {}, "divergence renyi (all)"),
    ],
)  # fmt: skip
def test_all_settings_of_my_method_are_named(
    tmp_path: Path, mine: dict[str, Any], theirs: dict[str, Any], expected: str
) -> None:
    runs = own(tmp_path / "mine", **mine), own(tmp_path / "theirs", "other", **theirs)
    assert expected in list(own_settings(*runs, " (mine)"))
    short = list(own_settings(*runs, " (mine)", only_differing=True))
    assert len(short) == len(list(own_settings(*runs, " (mine)")))


def test_shared_settings_and_those_of_others_are_not_named(tmp_path: Path) -> None:
    settings = {"bounds__prior_precision": [1, 2], "method__likelihood": "gaussian"}
    mine = own(tmp_path / "mine", **settings, method__class="own.Mine")
    theirs = own(tmp_path / "theirs", "other", method__scale=3)
    found = " ".join(own_settings(mine, theirs, " (mine)"))
    assert not any(word in found for word in ("precision", "likelihood", "class", "scale"))
