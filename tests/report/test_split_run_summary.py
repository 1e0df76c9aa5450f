"""Summaries of runs on train/test splits, built from the data that a report has loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runs import add_arrays, add_search, make_points, make_run, make_search

from bnnbench.report.run_output import run_details
from bnnbench.report.split_run_page import MAX_POINTS, SPLIT_RUN_PAGE, summarise_runs
from bnnbench.results.read.run_tables import read_runs


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """A run with all files, one with scores only, and one with a diverged split."""
    folder = make_run(tmp_path / "outputs", dataset="boston")
    add_arrays(folder)
    add_search(folder)
    other = {"dataset": "yacht", "method": "sgld", "diag.ess": 40.0}
    make_run(tmp_path / "outputs", **other)
    make_run(tmp_path / "outputs", dataset="energy", diverged=[0, 1, 0, 0])
    return tmp_path / "outputs"


def test_table_and_notes_are_those_of_the_run_page(outputs: Path) -> None:
    runs = read_runs(outputs)
    shown = dict(summarise_runs(runs, with_charts=True))
    assert shown.keys() == runs.folders.keys() and len(shown) == 3
    for name, folder in runs.folders.items():
        assert shown[name].table == SPLIT_RUN_PAGE.table(folder)
        assert list(shown[name].notes) == SPLIT_RUN_PAGE.notes(folder)


def test_charts_hold_the_numbers_of_the_run(outputs: Path) -> None:
    runs = read_runs(outputs)
    (name,) = runs.scored.index[runs.scored["dataset"] == "boston"]
    search, predictions = dict(summarise_runs(runs, with_charts=True))[name].charts
    points = make_points()
    (drawn,) = predictions.series
    assert predictions.diagonal and len(drawn.x) == min(MAX_POINTS, len(points["target"]))
    np.testing.assert_allclose(drawn.x, points["target"])
    assert not any(one.charts for _, one in summarise_runs(runs, with_charts=False))
    np.testing.assert_allclose(drawn.error, 3.0)
    tried = make_search()
    so_far = [tried[tried["iteration"] <= k].groupby("split")["objective"].max() for k in range(6)]
    median = search.series[0]
    assert median.x == (1, 2, 3, 4, 5, 6)
    np.testing.assert_allclose(median.y, [best.median() for best in so_far])


def test_a_run_without_files_has_its_splits(outputs: Path) -> None:
    runs = read_runs(outputs)
    (name,) = runs.scored.index[runs.scored["dataset"] == "yacht"]
    shown = dict(summarise_runs(runs, with_charts=True))[name]
    (splits,) = shown.tables
    assert shown.charts == () and len(splits.rows) == 4
    assert [column.title for column in splits.columns][-1] == "ess"
    assert {row[-1] for row in splits.rows} == {"40"}


def test_a_damaged_file_removes_only_its_chart(outputs: Path) -> None:
    runs = read_runs(outputs)
    (name,) = runs.scored.index[runs.scored["dataset"] == "boston"]
    runs.folders[name].table("search").write_text("split,iteration\n0,0\n")
    shown = dict(summarise_runs(runs, with_charts=True))[name]
    assert len(shown.charts) == 1 and shown.charts[0].diagonal
    assert "search.csv" in shown.notes[-1]


def test_details_have_settings_and_the_path_to_the_run(outputs: Path, tmp_path: Path) -> None:
    runs = read_runs(outputs)
    for details in run_details(runs, tmp_path / "report"):
        path = (tmp_path / "report" / details.folder).resolve()
        assert path == runs.folders[details.name].root.resolve()
        assert details.settings["dataset"] in ("boston", "yacht", "energy")


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_damaged_environment_is_ignored(outputs: Path, text: str) -> None:
    runs = read_runs(outputs)
    for folder in runs.folders.values():
        folder.environment.write_text(text)
    assert all(one.environment.get("cores") is None for one in run_details(runs, outputs))
