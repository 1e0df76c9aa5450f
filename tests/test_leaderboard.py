"""The leaderboard: which cells it has, its ranks, and its marks by the one rule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.reference import reference_run

from bnnbench.results.reference.results import (
    ReferenceResults,
    read_reference_results,
    reference_runs,
)
from bnnbench.results.reference.write import add

DOCS = Path(__file__).parents[1] / "docs"

METHODS = ("bbb_x1", "vadam", "vprop", "pbp")
WORSE = "vprop"
SHARED = ("boston", "yacht")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ReferenceResults:
    """Four ranked methods on two data sets, one of them on a third, and a second preset.

    On both data sets, one method is much worse than the others, which differ by chance.
    """
    folder = tmp_path_factory.mktemp("reference")
    outputs = folder / "outputs"
    for dataset in SHARED:
        for method in METHODS:
            family = {"family": "bbb"} if method == "bbb_x1" else {}
            reference_run(outputs, f"{dataset}_{method}", method=method, dataset=dataset, **family)
    reference_run(outputs, "more", method="vadam", dataset="energy")
    reference_run(outputs, "preset", method="bbb_x2", family="bbb")
    add(folder / "reference", outputs)
    results = read_reference_results(folder / "reference")
    is_worse = results.splits["run"].map(results.runs["method"]) == WORSE
    return replace(results, splits=results.splits.assign(rmse=lambda rows: rows["rmse"] + is_worse))


@pytest.fixture
def cells(results: ReferenceResults, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """The cells by RMSE."""
    monkeypatch.syspath_prepend(str(DOCS / "tools"))
    import leaderboard

    monkeypatch.setattr(leaderboard, "reference_results", lambda: results)
    board = leaderboard.board.__wrapped__("rmse")
    means = reference_runs(results).scored.query("dataset in @SHARED and method in @METHODS")
    wide = means.pivot(index="dataset", columns="method", values="rmse_mean")
    expected = wide.rank(axis=1).mean()
    assert board.ranks.to_dict() == expected.to_dict() and {*board.shared} == {*SHARED}
    assert list(board.ranks) == sorted(expected)
    return board.cells


def test_every_ranked_method_has_a_row_and_missing_cells_are_visible(cells: pd.DataFrame) -> None:
    assert {*cells.index} == {*METHODS}
    assert len(cells.columns) == 9
    assert (cells == "not run").sum().sum() == cells.size - len(SHARED) * len(METHODS) - 1


def test_the_best_is_bold_and_what_is_not_significantly_worse_is_marked(
    cells: pd.DataFrame,
) -> None:
    for dataset in SHARED:
        column = cells[dataset]
        assert column.str.startswith("**").sum() == 1
        assert {*column.index[~column.str.contains(r"[*≈]")]} == {WORSE}
