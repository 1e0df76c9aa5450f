"""Tables, notes and figures of a run on train/test splits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.runs import RMSE, add_arrays, add_search, make_points, make_run, make_search
from support.synthetic_data import make_curve_run

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import OBJECTIVE, OUT_OF_FOLD, PREDICTIONS, SEARCH
from bnnbench.report.blocks import MISSING
from bnnbench.report.run_output import write_page
from bnnbench.report.split_run_page import (
    SPLIT_RUN_PAGE,
    Z_STATEMENT,
    figure_functions,
    run_notes,
    run_table,
)
from bnnbench.results.read.run_files import (
    CALIBRATION,
    read_out_of_fold,
    read_search,
    read_splits,
    read_test_points,
)
from bnnbench.results.score.calibration import RECALIBRATIONS
from bnnbench.run_all import write_derived_tables


def figures_of(folder: RunFolder) -> dict[str, Any]:
    return {name: draw() for name, draw in figure_functions(folder).items()}


@pytest.mark.ci
def test_the_page_holds_figures_and_there_are_derived_tables(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    add_search(folder)
    add_arrays(folder)
    add_arrays(folder, OUT_OF_FOLD)
    assert write_page(folder) == []
    assert write_derived_tables(folder) == ["summary.csv", "calibration.csv"]
    assert pd.read_csv(folder.table("summary"))["mean"][0] == pytest.approx(5)
    table = pd.read_csv(folder.table(CALIBRATION))
    assert set(table["recalibration"]) == {"none", *RECALIBRATIONS}
    for name in ("splits", "predictions", "calibration", "search"):
        assert folder.figure(name, "png").read_bytes().startswith(b"\x89PNG")
        assert folder.figure(name, "pdf").read_bytes().startswith(b"%PDF")


def test_figures_depend_on_the_files_of_the_run(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    assert list(figures_of(folder)) == ["splits"]
    folder.table(SEARCH).write_text("")
    assert list(figures_of(folder)) == ["splits"] and read_search(folder).empty
    toy = make_curve_run(tmp_path, scale=1.0)
    add_arrays(toy, OBJECTIVE, {"split": [0], "epoch": [1], "loss": [1.0], "complexity": [0.5]})
    assert list(figures_of(toy)) == ["splits", "predictions", "calibration", "curve", "objective"]


def test_every_figure_has_a_caption_and_names_its_run(tmp_path: Path) -> None:
    toy = make_curve_run(tmp_path, scale=1.0, dataset="gp_sample")
    add_arrays(toy, OBJECTIVE, {"split": [0], "epoch": [1], "loss": [1.0], "complexity": [0.5]})
    add_search(toy)
    figures = figures_of(toy)
    assert len(figures) == 6 and {*figures} <= {*SPLIT_RUN_PAGE.captions}
    heads = [figure.legends[0].get_title().get_text() for figure in figures.values()]
    assert {head.split("\n")[0] for head in heads} == {
        "bbb_x1 on gp_sample, seed 7, experiment uci"
    }


def test_the_random_phase_is_that_of_the_record(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    add_search(folder)
    axes = figures_of(folder)["search"].axes[0]
    shaded = axes.transData.inverted().transform(axes.patches[0].get_extents().get_points())
    assert shaded[:, 0] == pytest.approx([0.5, 3.5])


def test_points_of_diverged_splits_and_folds_are_excluded(tmp_path: Path) -> None:
    folder = make_run(tmp_path, diverged=[0, 1, 0, 0])
    points = make_points()
    add_arrays(folder)
    add_arrays(folder, OUT_OF_FOLD, {**points, "mean": np.where(points["split"] == 2, np.nan, 1.0)})
    points, held_out = read_test_points(folder, read_splits(folder)), read_out_of_fold(folder)
    assert points is not None and held_out is not None
    assert set(points["split"]) == {0, 2, 3}
    assert set(held_out["split"]) == {0, 1, 3}


def test_published_values_are_shown_next_to_ours(tmp_path: Path) -> None:
    table = run_table(make_run(tmp_path, times=5))
    assert [column.title for column in table.columns] == [
        "metric", "mean ± stderr", "std", "published", "z", "source",
    ]  # fmt: skip
    cells = {row[0]: row[1:] for row in table.rows}
    assert cells["RMSE [1000 USD]"] == (
        "5.00 ± 0.43", "1.9", "3.59 ± 0.21", "+3.0", "Khan et al. 2018: BBVI",
    )  # fmt: skip
    assert cells["CRPS [1000 USD]"][2:] == ("", "", "")
    assert (table.title, table.caption.count("std = ")) == ("boston, bbb_x1", 1)
    alone = run_table(make_run(tmp_path, method="map"))
    assert len(alone.columns) == 3 and all(len(row) == 3 for row in alone.rows)


def test_one_split_has_no_standard_deviation(tmp_path: Path) -> None:
    table = run_table(make_curve_run(tmp_path, scale=1.0))
    assert [column.title for column in table.columns][1:3] == ["value", ""]
    assert {row[2] for row in table.rows} == {""} and "std" not in table.caption


def test_notes_report_diverged_splits_and_search_bounds(tmp_path: Path) -> None:
    first, second, z = run_notes(make_run(tmp_path, times=5))[:3]
    assert "noise_precision" in first and "15 of 20 splits" in first
    assert "prior_precision" in second and "5 of 20 splits" in second
    assert z == Z_STATEMENT
    lost = make_run(tmp_path, method="map", diverged=[0, 0, 0, 1], at_bound="")
    (note,) = run_notes(lost)
    assert "1 of 4 splits diverged (split 3)" in note


@pytest.mark.slow
def test_a_run_without_finite_scores_is_still_written(tmp_path: Path) -> None:
    lost = dict.fromkeys(("rmse", "log_likelihood", "log_likelihood_joint", "crps"), math.nan)
    folder = make_run(tmp_path, **lost, diverged=1)
    add_arrays(folder, PREDICTIONS, {**make_points(), "mean": np.full(40, np.nan)})
    make_search().assign(objective=math.nan).to_csv(folder.table(SEARCH), index=False)
    assert write_page(folder) == []
    assert folder.figure("search", "png").stat().st_size > 5000
    assert len(run_table(folder).rows) == 9 and len(RMSE) == 4


def test_differing_settings_are_in_the_title_and_there_is_no_z(tmp_path: Path) -> None:
    folder = make_run(tmp_path, settings={"training__epochs": 5})
    table = run_table(folder)
    assert table.title == "boston, bbb_x1 (settings differ: epochs 5, 4 of 20 splits)"
    assert {row[4] for row in table.rows} == {"", MISSING}
    bbvi, slang = run_notes(folder)[-2:]
    assert "Khan et al. 2018: BBVI: epochs 5" in bbvi and "4 of 20 splits; z" in bbvi
    assert "BBB" in slang


def test_a_minor_difference_is_reported_and_there_is_a_z(tmp_path: Path) -> None:
    folder = make_run(tmp_path, method="vadam", times=5)
    z, difference = run_notes(folder)[-2:]
    assert z == Z_STATEMENT
    assert "Khan et al. 2018: Vadam: search objective per_point." in difference
    assert {row[4] for row in run_table(folder).rows} > {""}
