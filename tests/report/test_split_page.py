"""What one run on splits shows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.made_data import make_curve_run
from support.runs import RMSE, add_arrays, add_search, make_points, make_run, make_search

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import OBJECTIVE, OUT_OF_FOLD, PREDICTIONS, SEARCH
from bnnbench.report.numbers import MISSING
from bnnbench.report.pages import write_page
from bnnbench.report.split_page import points_of, split_drawings
from bnnbench.report.split_table import Z_STATEMENT, run_notes, run_table
from bnnbench.results.recalibration import RECALIBRATIONS
from bnnbench.results.run_files import (
    CALIBRATION,
    read_held_out,
    read_search,
    read_splits,
)


def figures_of(folder: RunFolder) -> dict[str, Any]:
    return {name: draw() for name, draw in split_drawings(folder).items()}


def test_the_page_holds_summary_calibration_and_figures(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    add_search(folder)
    add_arrays(folder)
    add_arrays(folder, OUT_OF_FOLD)
    assert write_page(folder) == ["calibration.csv"]
    assert pd.read_csv(folder.table("summary"))["mean"][0] == pytest.approx(5)
    table = pd.read_csv(folder.table(CALIBRATION))
    assert set(table["recalibration"]) == {"none", *RECALIBRATIONS}
    for name in ("splits", "predictions", "calibration", "search"):
        assert folder.figure(name, "png").read_bytes().startswith(b"\x89PNG")
        assert folder.figure(name, "pdf").read_bytes().startswith(b"%PDF")


def test_figures_are_those_that_the_files_can_show(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    assert list(figures_of(folder)) == ["splits"]
    folder.table(SEARCH).write_text("")
    assert list(figures_of(folder)) == ["splits"] and read_search(folder).empty
    toy = make_curve_run(tmp_path, scale=1.0)
    add_arrays(toy, OBJECTIVE, {"split": [0], "epoch": [1], "loss": [1.0], "complexity": [0.5]})
    assert list(figures_of(toy)) == ["splits", "predictions", "calibration", "curve", "objective"]


def test_every_figure_says_which_run_it_is_of(tmp_path: Path) -> None:
    toy = make_curve_run(tmp_path, scale=1.0, dataset="gp")
    add_arrays(toy, OBJECTIVE, {"split": [0], "epoch": [1], "loss": [1.0], "complexity": [0.5]})
    add_search(toy)
    figures = figures_of(toy)
    heads = [figure.legends[0].get_title().get_text() for figure in figures.values()]
    assert len(heads) == 6
    assert {head.split("\n")[0] for head in heads} == {"bbb_x1 on gp, seed 7, experiment uci"}


def test_the_random_phase_is_that_of_the_record(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    add_search(folder)
    axes = figures_of(folder)["search"].axes[0]
    shaded = axes.transData.inverted().transform(axes.patches[0].get_extents().get_points())
    assert shaded[:, 0] == pytest.approx([0.5, 3.5])


def test_points_of_lost_splits_and_folds_are_left_out(tmp_path: Path) -> None:
    folder = make_run(tmp_path, diverged=[0, 1, 0, 0])
    points = make_points()
    add_arrays(folder)
    add_arrays(folder, OUT_OF_FOLD, {**points, "mean": np.where(points["split"] == 2, np.nan, 1.0)})
    points, held_out = points_of(folder, read_splits(folder)), read_held_out(folder)
    assert points is not None and held_out is not None
    assert set(points["split"]) == {0, 2, 3}
    assert set(held_out["split"]) == {0, 1, 3}


def test_published_values_stand_beside_ours_where_there_are_any(tmp_path: Path) -> None:
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


def test_one_split_has_values_and_no_spread(tmp_path: Path) -> None:
    table = run_table(make_curve_run(tmp_path, scale=1.0))
    assert [column.title for column in table.columns][1:3] == ["value", ""]
    assert {row[2] for row in table.rows} == {""} and "std" not in table.caption


def test_notes_say_what_was_lost_and_what_lies_on_a_bound(tmp_path: Path) -> None:
    notes = run_notes(make_run(tmp_path, times=5))
    assert notes[0].startswith("chosen noise_precision on a search bound in 15 of 20 splits")
    assert notes[1].startswith("chosen prior_precision on a search bound in 5 of 20 splits")
    assert notes[2].startswith("z = (ours - published)")
    lost = make_run(tmp_path, method="map", diverged=[0, 0, 0, 1], at_bound="")
    (note,) = run_notes(lost)
    assert note.startswith("1 of 4 splits diverged (split 3)")


def test_a_run_without_any_finite_score_is_still_shown(tmp_path: Path) -> None:
    lost = dict.fromkeys(("rmse", "log_likelihood", "log_likelihood_joint", "crps"), math.nan)
    folder = make_run(tmp_path, **lost, diverged=1)
    add_arrays(folder, PREDICTIONS, {**make_points(), "mean": np.full(40, np.nan)})
    make_search().assign(objective=math.nan).to_csv(folder.table(SEARCH), index=False)
    write_page(folder)
    assert folder.figure("search", "png").stat().st_size > 5000
    assert len(run_table(folder).rows) == 9 and len(RMSE) == 4


def test_other_settings_are_in_the_title_and_leave_no_z(tmp_path: Path) -> None:
    folder = make_run(tmp_path, settings={"training__epochs": 5})
    table = run_table(folder)
    assert table.title == "boston, bbb_x1 (settings differ: epochs 5, 4 of 20 splits)"
    assert {row[4] for row in table.rows} == {"", MISSING}
    bbvi, slang = run_notes(folder)[-2:]
    assert bbvi.startswith("Khan et al. 2018: BBVI had other settings than epochs 5")
    assert bbvi.endswith("4 of 20 splits; z is left out.") and "BBB" in slang


def test_what_differs_slightly_is_said_beside_how_z_is_read(tmp_path: Path) -> None:
    folder = make_run(tmp_path, method="vadam", times=5)
    said = "Khan et al. 2018: Vadam had other settings than search objective per_point."
    assert run_notes(folder)[-2:] == [Z_STATEMENT, said]
    assert {row[4] for row in run_table(folder).rows} > {""}
