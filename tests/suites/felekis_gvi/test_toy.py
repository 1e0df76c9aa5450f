"""The one-dimensional toy, compared with the thesis's tables."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.blocks import blocks, data_files
from support.grids import make_grid
from support.runs import divergence_metadata
from support.synthetic_data import make_curve_run

from bnnbench.nn import MLP
from bnnbench.report.renderers import markdown
from bnnbench.settings import Network
from bnnbench.suites.felekis_gvi.page import toy_section
from bnnbench.suites.felekis_gvi.toy import thesis_row, thesis_table

TOY = {"experiment": "gp_toy", "dataset": "gp_sample", "method": "bbb"}

DIVERGENCES = (
    *map(divergence_metadata, ("kl", "kl_prior_posterior", "tv_lower", "tv_upper", "fisher")),
    *(divergence_metadata(family, 2) for family in ("alpha", "renyi", "alpha_renyi")),
    divergence_metadata("js", weight=2),
)


def test_the_thesis_criteria_count_means_and_standard_deviations_of_401_points() -> None:
    """The report notes this about the thesis's tables. Misprinted entries are excluded."""
    misprinted = {("js", 3), ("tvl", 2), ("tvu", 3)}
    table = thesis_table("criteria")
    assert len(table) == 27
    for key, row in table.iterrows():
        weights = MLP.of(1, Network((100, 200, 100)[: key[1]], key[1]), outputs=2).n_weights
        points = math.exp((row["bic"] - row["aic"]) / (2 * weights) + 2)
        assert (abs(points - 401) < 0.6) == (key not in misprinted), key
        if key not in misprinted:
            assert -173 <= row["aic"] - 4 * weights <= 209


def test_thesis_values_are_found_by_our_names() -> None:
    run = {"dataset": "gp_sample", "family": "bbb", "depth": 1, **divergence_metadata("tv_lower")}
    assert thesis_row("criteria", run)["bic"] == 4678
    assert thesis_row("calibration", run | divergence_metadata("renyi", 2.5))["difference"] == 0.13
    for other in (
        {"dataset": "boston"},
        {"family": "mc_dropout"},
        divergence_metadata("chi2"),
        divergence_metadata("js"),
    ):
        assert thesis_row("criteria", run | other) == {}
    assert all(thesis_row("calibration", run | kind) for kind in DIVERGENCES)


def test_thesis_values_are_added_to_matching_runs(tmp_path: Path) -> None:
    make_curve_run(tmp_path, scale=0.5, depth=3, **TOY, **divergence_metadata("alpha", 2))
    make_curve_run(tmp_path, scale=1.0, **(TOY | {"method": "laplace"}))
    scored = {"train_log_likelihood": [-2.0, -2.0, -2.0, -4.0], "training_rows": 50}
    js = divergence_metadata("js", weight=2)
    make_grid(tmp_path, {"js_weight_2": 5}, parameters=7, **scored, **TOY, **js)
    make_grid(tmp_path, {"js": 6}, parameters=7, **scored, **TOY)  # half the thesis's divergence
    section = blocks(toy_section, tmp_path)
    data = data_files(section)
    (row,) = data["toy_calibration"].to_dict("records")
    assert row["inside_1"] == pytest.approx(0.383, abs=0.01)
    assert (row["inside_1_thesis"], row["difference_thesis"]) == (0.75, 0.07)
    (row,) = data["toy_criteria"].to_dict("records")
    assert row["aic"] == 14 + 250 and row["aic_thesis"] == 1747
    page = markdown.page(section)
    assert "Thesis difference" in page and "AIC, thesis" in page
