"""Published values and our own, best first."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.runs import make_run

from bnnbench.report.blocks import DataFile, Style, Table
from bnnbench.report.sections.leaderboard import OURS, leaderboard, section
from bnnbench.results.published.values import published_modern
from bnnbench.results.reader import read_runs


def test_published_values_of_later_methods() -> None:
    rows = published_modern()
    assert len(rows) == 394 and set(rows["splits"]) == {"public", "own", "unknown"}
    by_method = rows.set_index(["method", "dataset", "metric"])
    hmc = by_method.loc[("HMC (1x50 BNN, HMC-1)", "boston", "rmse")]
    assert hmc["splits"] == "public" and hmc["source"] == "Bui et al."
    assert (rows[rows["source"] == "Wu et al."]["splits"] == "own").all()
    std = rows[(rows["error_kind"] == "std") & (rows["error"] > 0)].iloc[0]
    assert std["stderr"] == pytest.approx(std["error"] / std["n_splits"] ** 0.5)
    assert rows.loc[rows["error_kind"] == "unknown", "stderr"].isna().all()


def test_our_values_are_sorted_among_the_published_ones(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam", times=5)
    make_run(tmp_path, method="pbp", times=5, settings={"dataset__seeded_splits": 20})
    rows = leaderboard(read_runs(tmp_path))
    assert set(rows["dataset"]) == {"boston"}
    for metric, sign in (("rmse", 1), ("log_likelihood", -1), ("log_likelihood_joint", -1)):
        own = rows[rows["metric"] == metric]
        assert (sign * own["mean"]).is_monotonic_increasing
        ours = own[own["source"] == OURS].set_index("method")
        assert ours["splits"].to_dict() == {
            "vadam": "public", "pbp (settings differ: seeded splits 20)": "own",
        }  # fmt: skip
    assert len(rows[rows["metric"] == "rmse"]) > 20


def test_data_sets_without_published_values_have_no_leaderboard(tmp_path: Path) -> None:
    make_run(tmp_path, settings={"dataset__class": "module.Own"})
    assert leaderboard(read_runs(tmp_path)).empty
    assert section(read_runs(tmp_path), Style(all_published=True)) is None


def test_a_report_contains_it_on_request(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam", times=5)
    runs = read_runs(tmp_path)
    assert section(runs, Style()) is None
    found = section(runs, Style(all_published=True))
    assert found is not None
    tables = [block for block in found.blocks if isinstance(block, Table)]
    (data,) = [block for block in found.blocks if isinstance(block, DataFile)]
    assert len(tables) == 3 and data.name == "published"
    assert sum(len(table.rows) for table in tables) == len(data.table)
