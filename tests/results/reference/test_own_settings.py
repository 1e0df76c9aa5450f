"""The note on the settings that are the methods' own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.runs import make_run

from bnnbench.results.reference.own_settings import own_settings
from bnnbench.results.run_tables import read_runs


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
