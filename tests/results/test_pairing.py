"""Splits are paired by the rows that they test, whatever their numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runs import make_run

from bnnbench.results.labels import labels
from bnnbench.results.pairing import meetings, unpaired
from bnnbench.results.reader import Runs, read_runs
from bnnbench.results.significance import all_pairs, pairs_between, shared

RMSE = np.array([3.0, 4.0, 5.0, 8.0])


def said(runs: Runs) -> list[str]:
    return unpaired(meetings(runs), labels(runs.scored))


def test_splits_that_test_other_rows_are_not_compared(tmp_path: Path) -> None:
    """As the published splits beside seeded ones, which have the same numbers."""
    make_run(tmp_path)
    make_run(tmp_path, method="vadam", fingerprint=["a", "b", "c", "d"])
    runs = read_runs(tmp_path)
    assert all_pairs(runs).empty
    (sentence,) = said(runs)
    assert sentence.startswith("On boston 1 of 1 pairs of runs share fewer than 3 splits")
    assert sentence.endswith("nothing can be said of them: bbb_x1 and vadam.")


def test_splits_of_other_numbers_are_compared_where_they_test_the_same_rows(tmp_path: Path) -> None:
    make_run(tmp_path, rmse=RMSE, fingerprint=["a", "b", "c", "d"])
    make_run(tmp_path, method="vadam", rmse=RMSE[::-1] - 1, fingerprint=["d", "c", "b", "a"])
    runs = read_runs(tmp_path)
    pairs = all_pairs(runs).set_index("metric")
    assert pairs.loc["rmse", "difference"] == 1
    assert pairs.loc["rmse", "p_worse"] == 1, "1 on every split, and so without any spread"
    assert shared(pairs) == "4 of 4 splits shared" and said(runs) == []


def test_the_splits_that_two_runs_share_are_counted(tmp_path: Path) -> None:
    make_run(tmp_path, fingerprint=["a", "b", "c", "d"], diverged=[0, 0, 0, 0])
    make_run(tmp_path, method="vadam", fingerprint=["b", "c", "d", "e"])
    pairs = all_pairs(read_runs(tmp_path))
    assert shared(pairs) == "3 of 4 splits shared"
    rmse = pairs.set_index("metric").loc["rmse"]
    assert rmse["difference"] == pytest.approx(np.mean([4, 5, 8]) - np.mean([3, 4, 5]))


def test_a_part_that_a_run_tests_twice_is_paired_once_for_each_time(tmp_path: Path) -> None:
    """Of a table of few rows random splits may repeat each other."""
    for method, rmse in {"bbb_x1": RMSE, "vadam": RMSE - 1}.items():
        make_run(tmp_path, method=method, rmse=rmse, fingerprint=["a", "b", "a", "c"])
    pairs = all_pairs(read_runs(tmp_path)).set_index("metric")
    assert (pairs["splits"] == 4).all() and pairs.loc["rmse", "difference"] == 1


def test_runs_of_two_folders_are_paired_likewise(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    make_run(first, fingerprint=["a", "b", "c", "d"], rmse=RMSE)
    make_run(second, fingerprint=["c", "b", "a", "x"], rmse=[5.0, 4.0, 3.0, 0.0])
    make_run(second, method="vadam", fingerprint=["x", "y", "z", "a"])
    make_run(second, method="pbp", dataset="yacht")
    pairs = pairs_between(read_runs(first), read_runs(second))
    assert len(pairs) == 3 and shared(pairs) == "3 of 4 splits shared"
    assert pairs.set_index("metric").loc["rmse", "difference"] == 0
    met = meetings(read_runs(first), read_runs(second))
    (sentence,) = unpaired(met, read_runs(second).scored["method"])
    assert "bbb_x1 and vadam" in sentence and "pbp" not in sentence
    assert list(pairs_between(read_runs(second), read_runs(first))["dataset"].unique()) == [
        "boston"
    ]


def test_many_pairs_are_counted_and_a_few_named(tmp_path: Path) -> None:
    for number, method in enumerate(("a", "b", "c", "d")):
        make_run(tmp_path, method=method, fingerprint=[f"{number}{split}" for split in range(4)])
    (sentence,) = said(read_runs(tmp_path))
    assert sentence.startswith("On boston 6 of 6 pairs") and sentence.endswith(" and 3 more.")
