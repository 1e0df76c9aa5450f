"""The section on the Rényi bound: published values and z-scores."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.blocks import blocks, data_files
from support.runs import make_run

from bnnbench.report.renderers import markdown
from bnnbench.results.published.values import published_means
from bnnbench.results.read.run_tables import read_runs
from bnnbench.suites.li_renyi.page import METHODS, NAMES, compare_with_published, section

VR = {"experiment": "vr_uci", "family": "renyi_vi"}
PAPER, PROGRAM = METHODS


def make_order_run(
    folder: Path, alpha: float, times: int = 5, method: str = PAPER, **settings: object
) -> None:
    """Write a run of twenty splits on boston with log-likelihood -2.5 ± 0.081."""
    order = str(alpha) if math.isinf(alpha) else alpha  # as in a record
    own = {"method__alpha": order, "training__samples": 100, **settings}
    make_run(folder, f"v{alpha}{len(settings)}", times, own, method=method, **VR)


def test_the_section_exists_only_if_the_suite_was_run(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert not blocks(section, tmp_path)


def test_a_run_is_compared_with_the_value_of_its_order(tmp_path: Path) -> None:
    for alpha in NAMES:
        make_order_run(tmp_path, alpha)
    found = compare_with_published(read_runs(tmp_path)).set_index(["metric", "alpha"])
    assert len(found) == 10
    half = found.loc["log_likelihood", 0.5]
    assert (half["published"], half["published_stderr"], half["splits"]) == (-2.46, 0.07, 20)
    assert half["ours"] == -2.5 and half["differs"] == ""
    assert half["z"] == pytest.approx(-0.04 / math.hypot(0.0811, 0.07), abs=1e-3)
    assert found.loc["rmse", math.inf]["published"] == 2.86
    assert found.loc["rmse", -math.inf]["published"] == 2.84


@pytest.mark.parametrize(("method", "width"), [(PAPER, 50), (PROGRAM, 100)])
def test_a_preset_is_compared_with_its_number_of_hidden_units(
    tmp_path: Path, method: str, width: int
) -> None:
    for alpha, units in ((0.0, 50), (0.5, 100)):
        make_order_run(tmp_path, alpha, method=method, network__width=[units])
    found = compare_with_published(read_runs(tmp_path)).set_index("alpha")
    assert (found["method"] == method).all()
    comparable = found["z"].notna()
    assert set(found[comparable].index) == {0.0 if width == 50 else 0.5}
    assert (found.loc[~comparable, "differs"] != "").all()


def test_both_presets_have_rows_of_their_own(tmp_path: Path) -> None:
    for method, units in ((PAPER, 50), (PROGRAM, 100)):
        make_order_run(tmp_path, 0.5, method=method, network__width=[units])
    found = compare_with_published(read_runs(tmp_path)).query("metric == 'rmse'")
    assert [*found["method"]] == [PAPER, PROGRAM] and found["z"].notna().all()
    rows = [
        line for line in markdown.page(blocks(section, tmp_path)).splitlines() if "boston" in line
    ]
    assert len(set(rows)) == len(rows) == 4


def test_other_settings_are_listed_instead_of_z(tmp_path: Path) -> None:
    make_order_run(tmp_path, 1.0, training__final_epochs=40)
    make_order_run(tmp_path, 0.5, times=1)
    make_order_run(tmp_path, 0.7)  # this order was not published
    found = blocks(section, tmp_path)
    (data,) = data_files(found).values()
    assert data["z"].isna().all() and len(data) == 4
    page = markdown.page(found)
    rows = [line for line in page.splitlines() if line.startswith("| boston")]
    assert "4 of 20 splits" in rows[0] and "final epochs 40" in rows[1]
    assert "-2.52 ± 0.03" in rows[1].replace("0.030", "0.03").replace("-2.520", "-2.52")


def test_every_order_was_published_for_nine_sets() -> None:
    table = published_means().query("source == 'Li & Turner'")
    assert set(table["method"]) == {*NAMES.values()}
    assert set(table.groupby(["metric", "method"])["dataset"].nunique()) == {9}
