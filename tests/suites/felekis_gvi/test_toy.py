"""The toy beside what the thesis prints of its own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.grids import make_grid
from support.made_data import make_curve_run
from support.runs import of_order

from bnnbench.nn import MLP
from bnnbench.report.renderers import markdown
from bnnbench.report.section import Data, Style
from bnnbench.results.reader import read_runs
from bnnbench.settings import Network
from bnnbench.suites.felekis_gvi.page import claims_section, toy_section
from bnnbench.suites.felekis_gvi.printed import printed, theirs

TOY = {"experiment": "gp_toy", "dataset": "gp", "method": "bbb"}

DIVERGENCES = (
    of_order("kl"), of_order("rkl"), of_order("alpha", 2), of_order("renyi", 2),
    of_order("alpha_renyi", 2), of_order("js", weight=2), of_order("tv_lower"),
    of_order("tv_upper"), of_order("fisher"),
)  # fmt: skip


def test_the_theses_criteria_count_means_and_deviations_of_401_points() -> None:
    """What the report says about the printed tables, and which entries are misprints."""
    misprinted = {("js", 3), ("tvl", 2), ("tvu", 3)}
    table = printed("criteria")
    assert len(table) == 27
    for key, row in table.iterrows():
        weights = MLP.of(1, Network((100, 200, 100)[: key[1]], key[1]), outputs=2).n_weights
        points = math.exp((row["bic"] - row["aic"]) / (2 * weights) + 2)
        assert (abs(points - 401) < 0.6) == (key not in misprinted), key
        if key not in misprinted:
            assert -173 <= row["aic"] - 4 * weights <= 209


def test_printed_values_stand_beside_our_names() -> None:
    run = {"dataset": "gp", "family": "bbb", "depth": 1, **of_order("tv_lower")}
    assert theirs("criteria", run)["bic"] == 4678
    assert theirs("calibration", run | of_order("renyi", 2.5))["difference"] == 0.13
    for other in (
        {"dataset": "boston"},
        {"family": "mc_dropout"},
        of_order("chi2"),
        of_order("js"),
    ):
        assert theirs("criteria", run | other) == {}
    assert all(theirs("calibration", run | kind) for kind in DIVERGENCES)


def test_printed_numbers_stand_beside_ours_where_there_are_any(tmp_path: Path) -> None:
    make_curve_run(tmp_path, scale=0.5, depth=3, **TOY, **of_order("alpha", 2))
    make_curve_run(tmp_path, scale=1.0, **(TOY | {"method": "laplace"}))
    scored = {"train_log_likelihood": [-2.0, -2.0, -2.0, -4.0], "training_rows": 50}
    whole = of_order("js", weight=2)
    make_grid(tmp_path, {"js_w2": 5}, parameters=7, **scored, **TOY, **whole)
    make_grid(tmp_path, {"js": 6}, parameters=7, **scored, **TOY)  # half of the thesis's
    section = toy_section(read_runs(tmp_path), Style())
    assert section is not None
    data = {block.name: block.table for block in section.blocks if isinstance(block, Data)}
    (row,) = data["toy_calibration"].to_dict("records")
    assert row["inside_1"] == pytest.approx(0.383, abs=0.01)
    assert (row["inside_1_thesis"], row["difference_thesis"]) == (0.75, 0.07)
    (row,) = data["toy_criteria"].to_dict("records")
    assert row["aic"] == 14 + 250 and row["aic_thesis"] == 1747
    page = markdown.page([section])
    assert "Its difference" in page and "AIC, thesis" in page


def test_claims_on_the_toy_are_judged_by_its_runs(tmp_path: Path) -> None:
    for depth, scale in ((1, 0.5), (2, 0.3)):
        make_curve_run(tmp_path, scale=scale, depth=depth, **TOY, **of_order("rkl"))
    section = claims_section(read_runs(tmp_path), Style())
    assert section is not None
    table = section.blocks[-1].table.set_index("text")  # type: ignore[union-attr]
    assert set(table["source"]) == {"5.0.2"}
    assert table.loc["That of RKL decreases.", "verdict"] == "not tested"
