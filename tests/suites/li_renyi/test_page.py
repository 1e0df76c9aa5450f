"""The section on Rényi's bound: which printed value a run stands beside, and how far from it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.runs import make_run

from bnnbench.report.renderers import markdown
from bnnbench.report.section import Data, Style
from bnnbench.results.published import published_modern
from bnnbench.results.reader import read_runs
from bnnbench.suites.li_renyi.page import NAMES, beside_published, section

VR = {"experiment": "vr_uci", "method": "renyi_vi_2016", "family": "renyi_vi"}


def run_of(folder: Path, alpha: float, times: int = 5, **settings: object) -> None:
    """One of twenty splits, on boston, whose log-likelihood is -2.5 ± 0.081."""
    order = str(alpha) if math.isinf(alpha) else alpha  # as a record has it
    own = {"method__alpha": order, "training__samples": 100, **settings}
    make_run(folder, f"v{alpha}{len(settings)}", times, own, **VR)


def test_it_is_there_only_where_the_suite_was_run(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert section(read_runs(tmp_path), Style()) is None


def test_a_run_stands_beside_the_value_of_its_order(tmp_path: Path) -> None:
    for alpha in NAMES:
        run_of(tmp_path, alpha)
    found = beside_published(read_runs(tmp_path)).set_index(["metric", "alpha"])
    assert len(found) == 10
    half = found.loc["log_likelihood", 0.5]
    assert (half["published"], half["published_stderr"], half["splits"]) == (-2.46, 0.07, 20)
    assert half["ours"] == -2.5 and half["differs"] == ""
    assert half["z"] == pytest.approx(-0.04 / math.hypot(0.0811, 0.07), abs=1e-3)
    assert found.loc["rmse", math.inf]["published"] == 2.86
    assert found.loc["rmse", -math.inf]["published"] == 2.84


def test_other_settings_have_no_z_but_the_words_for_it(tmp_path: Path) -> None:
    run_of(tmp_path, 1.0, training__final_epochs=40)
    run_of(tmp_path, 0.5, times=1)
    run_of(tmp_path, 0.7)  # of an order that was not published
    found = section(read_runs(tmp_path), Style())
    assert found is not None
    (data,) = [block.table for block in found.blocks if isinstance(block, Data)]
    assert data["z"].isna().all() and len(data) == 4
    page = markdown.page([found])
    rows = [line for line in page.splitlines() if line.startswith("| boston")]
    assert "4 of 20 splits" in rows[0] and "final epochs 40" in rows[1]
    assert "-2.52 ± 0.03" in rows[1].replace("0.030", "0.03").replace("-2.520", "-2.52")


def test_every_order_was_published_for_nine_sets() -> None:
    table = published_modern().query("source == 'Li & Turner'")
    assert set(table["method"]) == {*NAMES.values()}
    assert set(table.groupby(["metric", "method"])["dataset"].nunique()) == {9}
