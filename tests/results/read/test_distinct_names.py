"""No two runs share a name; scores never decide which one is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.runs import make_run

from bnnbench.results.read.distinct_names import distinct_names
from bnnbench.results.read.run_tables import read_runs


@pytest.mark.parametrize("best", [0, 1])
def test_other_configurations_are_labelled(tmp_path: Path, best: int) -> None:
    for number, width in enumerate((50, 20)):
        loss = 1.0 if number == best else 2.0
        make_run(tmp_path, f"v{number}", settings={"network__width": width}, rmse=loss)
    make_run(tmp_path, dataset="yacht")
    table = read_runs(tmp_path).scored
    names = distinct_names(table["method"], table, ["dataset"])
    assert sorted(names) == ["bbb_x1", "bbb_x1", "bbb_x1, width 20"]
    assert not names.to_frame().assign(dataset=table["dataset"]).duplicated().any()


@pytest.mark.parametrize("best", [3, 4])
def test_of_several_seeds_the_lowest_is_kept(tmp_path: Path, best: int) -> None:
    for seed in (4, 3):
        make_run(tmp_path, f"seed{seed}", seed=seed, rmse=1.0 if seed == best else 2.0)
    table = read_runs(tmp_path).scored
    (kept,) = distinct_names(table["method"], table, ["dataset"]).index
    assert table.loc[kept, "seed"] == 3


def test_more_splits_come_before_lower_seeds(tmp_path: Path) -> None:
    for seed, times in ((3, 1), (4, 2)):
        make_run(tmp_path, f"seed{seed}", seed=seed, times=times)
    table = read_runs(tmp_path).scored
    (kept,) = distinct_names(table["method"], table, ["dataset"]).index
    assert table.loc[kept, "seed"] == 4
