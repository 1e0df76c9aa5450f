"""What the page of a report shows of a run on splits, made of what the report has read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.runs import add_arrays, add_search, make_points, make_run, make_search

from bnnbench.report.run_details import details_of
from bnnbench.report.split_page import PAGE
from bnnbench.report.split_shown import POINTS, shown_runs
from bnnbench.results.reader import read_runs


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """A run with everything, one with nothing but scores, one that lost a split."""
    folder = make_run(tmp_path / "outputs", dataset="boston")
    add_arrays(folder)
    add_search(folder)
    other = {"dataset": "yacht", "method": "sgld", "diag.ess": 40.0}
    make_run(tmp_path / "outputs", **other)
    make_run(tmp_path / "outputs", dataset="energy", diverged=[0, 1, 0, 0])
    return tmp_path / "outputs"


def test_it_says_what_the_runs_own_page_says(outputs: Path) -> None:
    runs = read_runs(outputs)
    shown = dict(shown_runs(runs, with_charts=True))
    assert shown.keys() == runs.folders.keys() and len(shown) == 3
    for name, folder in runs.folders.items():
        assert shown[name].table == PAGE.table(folder)
        assert list(shown[name].notes) == PAGE.notes(folder)


def test_charts_hold_the_runs_numbers(outputs: Path) -> None:
    runs = read_runs(outputs)
    (name,) = runs.scored.index[runs.scored["dataset"] == "boston"]
    search, predictions = dict(shown_runs(runs, with_charts=True))[name].charts
    points = make_points()
    (drawn,) = predictions.series
    assert predictions.diagonal and len(drawn.x) == min(POINTS, len(points["target"]))
    np.testing.assert_allclose(drawn.x, points["target"])
    assert not any(one.charts for _, one in shown_runs(runs, with_charts=False))
    np.testing.assert_allclose(drawn.error, 3.0)
    tried = make_search()
    so_far = [tried[tried["iteration"] <= k].groupby("split")["objective"].max() for k in range(6)]
    median = search.series[0]
    assert median.x == (1, 2, 3, 4, 5, 6)
    np.testing.assert_allclose(median.y, [best.median() for best in so_far])


def test_a_run_without_files_has_its_splits(outputs: Path) -> None:
    runs = read_runs(outputs)
    (name,) = runs.scored.index[runs.scored["dataset"] == "yacht"]
    shown = dict(shown_runs(runs, with_charts=True))[name]
    (splits,) = shown.tables
    assert shown.charts == () and len(splits.rows) == 4
    assert [column.title for column in splits.columns][-1] == "ess"
    assert {row[-1] for row in splits.rows} == {"40"}


def test_a_damaged_file_costs_its_chart_alone(outputs: Path) -> None:
    runs = read_runs(outputs)
    (name,) = runs.scored.index[runs.scored["dataset"] == "boston"]
    runs.folders[name].table("search").write_text("split,iteration\n0,0\n")
    shown = dict(shown_runs(runs, with_charts=True))[name]
    assert len(shown.charts) == 1 and shown.charts[0].diagonal
    assert "search.csv is damaged" in shown.notes[-1]


def test_details_have_settings_environment_and_the_way_to_the_files(
    outputs: Path, tmp_path: Path
) -> None:
    runs = read_runs(outputs)
    for found in details_of(runs, tmp_path / "report"):
        place = (tmp_path / "report" / found.folder).resolve()
        assert place == runs.folders[found.name].root.resolve()
        assert found.settings["dataset"] in ("boston", "yacht", "energy")


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_damaged_environment_is_none(outputs: Path, text: str) -> None:
    runs = read_runs(outputs)
    for folder in runs.folders.values():
        folder.environment.write_text(text)
    assert all(found.environment.get("cores") is None for found in details_of(runs, outputs))
