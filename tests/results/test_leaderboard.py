"""Every published value on record, ours among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.runs import make_run

from bnnbench.report.section import Data, Style, Table
from bnnbench.report.sections.leaderboard import section
from bnnbench.results.leaderboard import OURS, leaderboard
from bnnbench.results.published import published_modern
from bnnbench.results.reader import read_runs
from bnnbench.types import UserError


def test_what_is_on_record_of_later_methods() -> None:
    rows = published_modern()
    assert len(rows) == 394 and set(rows["splits"]) == {"public", "own", "unknown"}
    kind = rows.set_index(["method", "dataset", "metric"])
    hmc = kind.loc[("HMC (1x50 BNN, HMC-1)", "boston", "rmse")]
    assert hmc["splits"] == "public" and hmc["source"] == "Bui et al."
    assert (rows[rows["source"] == "Wu et al."]["splits"] == "own").all()
    std = rows[(rows["error_kind"] == "std") & (rows["error"] > 0)].iloc[0]
    assert std["stderr"] == pytest.approx(std["error"] / std["n_splits"] ** 0.5)
    assert rows.loc[rows["error_kind"] == "unknown", "stderr"].isna().all()


def test_ours_stand_among_them_best_first(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam", times=5)
    make_run(tmp_path, method="pbp", times=5, settings={"dataset__seeded_splits": 20})
    rows = leaderboard(read_runs(tmp_path))
    assert set(rows["dataset"]) == {"boston"}
    for metric, sign in (("rmse", 1), ("log_likelihood", -1), ("log_likelihood_joint", -1)):
        own = rows[rows["metric"] == metric]
        assert (sign * own["mean"]).is_monotonic_increasing
        mine = own[own["source"] == OURS].set_index("method")
        assert mine["splits"].to_dict() == {
            "vadam": "public", "pbp (settings differ: seeded splits 20)": "own",
        }  # fmt: skip
    assert len(rows[rows["metric"] == "rmse"]) > 20


def test_data_that_nothing_was_published_on_have_none(tmp_path: Path) -> None:
    make_run(tmp_path, settings={"dataset__class": "module.Own"})
    assert leaderboard(read_runs(tmp_path)).empty
    assert section(read_runs(tmp_path), Style(published="all")) is None


def test_a_report_has_it_where_it_is_asked_for(tmp_path: Path) -> None:
    make_run(tmp_path, method="vadam", times=5)
    runs = read_runs(tmp_path)
    assert section(runs, Style()) is None
    found = section(runs, Style(published="all"))
    assert found is not None
    tables = [block for block in found.blocks if isinstance(block, Table)]
    (data,) = [block for block in found.blocks if isinstance(block, Data)]
    assert len(tables) == 3 and data.name == "published"
    assert sum(len(table.rows) for table in tables) == len(data.table)
    with pytest.raises(UserError, match="--published"):
        Style(published="some")
