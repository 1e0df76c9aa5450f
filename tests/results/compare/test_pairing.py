"""Splits are paired by their test rows, not by their number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runs import make_run

from bnnbench.results.compare.outcomes import all_pairs
from bnnbench.results.compare.pairing import dataset_pairs, unpaired_messages
from bnnbench.results.compare.significance import compare_pairs, describe_shared_splits
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs, read_runs

RMSE = np.array([3.0, 4.0, 5.0, 8.0])


def messages(runs: Runs) -> list[str]:
    return unpaired_messages(dataset_pairs(runs), labels(runs.scored))


def test_splits_with_different_test_rows_are_not_compared(tmp_path: Path) -> None:
    """Published and seeded splits, for example, have the same numbers."""
    make_run(tmp_path)
    make_run(tmp_path, method="vadam", fingerprint=["a", "b", "c", "d"])
    runs = read_runs(tmp_path)
    assert all_pairs(runs).empty
    (sentence,) = messages(runs)
    assert sentence.startswith("On boston 1 of 1 pairs of runs share fewer than 3 splits")
    assert sentence.endswith(": bbb_x1 and vadam.")


def test_splits_with_the_same_test_rows_are_compared_regardless_of_their_number(
    tmp_path: Path,
) -> None:
    make_run(tmp_path, rmse=RMSE, fingerprint=["a", "b", "c", "d"])
    make_run(tmp_path, method="vadam", rmse=RMSE[::-1] - 1, fingerprint=["d", "c", "b", "a"])
    runs = read_runs(tmp_path)
    pairs = all_pairs(runs).set_index("metric")
    assert pairs.loc["rmse", "difference"] == 1
    assert pairs.loc["rmse", "p_value"] == 0, "the difference is 1 on every split"
    assert pairs.loc["rmse", "outcome"] == "worse"
    assert describe_shared_splits(pairs) == "4 of 4 splits shared" and messages(runs) == []


def test_shared_splits_are_counted(tmp_path: Path) -> None:
    make_run(tmp_path, fingerprint=["a", "b", "c", "d"], diverged=[0, 0, 0, 0])
    make_run(tmp_path, method="vadam", fingerprint=["b", "c", "d", "e"])
    pairs = all_pairs(read_runs(tmp_path))
    assert describe_shared_splits(pairs) == "3 of 4 splits shared"
    rmse = pairs.set_index("metric").loc["rmse"]
    assert rmse["difference"] == pytest.approx(np.mean([4, 5, 8]) - np.mean([3, 4, 5]))


def test_repeated_splits_are_all_paired(tmp_path: Path) -> None:
    """Random splits of small tables may be identical."""
    for method, rmse in {"bbb_x1": RMSE, "vadam": RMSE - 1}.items():
        make_run(tmp_path, method=method, rmse=rmse, fingerprint=["a", "b", "a", "c"])
    pairs = all_pairs(read_runs(tmp_path)).set_index("metric")
    assert (pairs["splits"] == 4).all() and pairs.loc["rmse", "difference"] == 1


@pytest.mark.slow
def test_runs_in_two_folders_are_paired(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    make_run(first, fingerprint=["a", "b", "c", "d"], rmse=RMSE)
    make_run(second, fingerprint=["c", "b", "a", "x"], rmse=[5.0, 4.0, 3.0, 0.0])
    make_run(second, method="vadam", fingerprint=["x", "y", "z", "a"])
    make_run(second, method="pbp", dataset="yacht")
    pairs = compare_pairs(dataset_pairs(read_runs(first), read_runs(second)))
    assert len(pairs) == 3 and describe_shared_splits(pairs) == "3 of 4 splits shared"
    assert pairs.set_index("metric").loc["rmse", "difference"] == 0
    by_dataset = dataset_pairs(read_runs(first), read_runs(second))
    (sentence,) = unpaired_messages(by_dataset, read_runs(second).scored["method"])
    assert "bbb_x1 and vadam" in sentence and "pbp" not in sentence
    other_way = compare_pairs(dataset_pairs(read_runs(second), read_runs(first)))
    assert list(other_way["dataset"].unique()) == ["boston"]


def test_a_data_set_in_one_of_two_folders_has_no_pairs(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    make_run(first, dataset="yacht")
    make_run(second, dataset="wine", method="vadam")
    runs = read_runs(first), read_runs(second)
    names = runs[0].scored["method"]
    assert unpaired_messages(dataset_pairs(*runs), names) == []


def test_many_unpaired_runs_are_counted_and_a_few_named(tmp_path: Path) -> None:
    for number, method in enumerate(("a", "b", "c", "d")):
        make_run(tmp_path, method=method, fingerprint=[f"{number}{split}" for split in range(4)])
    (sentence,) = messages(read_runs(tmp_path))
    assert sentence.startswith("On boston 6 of 6 pairs") and sentence.endswith(" and 3 more.")
