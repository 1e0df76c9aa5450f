"""Bar charts over runs: what they show, and how they stay readable."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from support.runs import RMSE, make_run

from bnnbench.report.figures.bar_charts import MANY, bars_figure
from bnnbench.report.section import ERRORS
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.reader import read_runs
from bnnbench.results.with_published import with_published

ERROR, LIKELIHOOD = BY_KEY["rmse"], BY_KEY["log_likelihood"]


@pytest.mark.parametrize(("error", "size", "splits"), [("std", 14 / 3, 20), ("stderr", 14 / 12, 1)])
def test_bars_show_means_errors_and_published_values_with_the_same_error(
    tmp_path: Path, error: str, size: float, splits: int
) -> None:
    make_run(tmp_path)
    make_run(tmp_path, method="vadam", rmse=np.array(RMSE) + 1)
    make_run(tmp_path, dataset="yacht", rmse=0.5)
    figure = bars_figure(with_published(read_runs(tmp_path)), ERROR, error)
    boston, yacht = figure.axes
    assert [bar.get_height() for bar in boston.patches] == pytest.approx([5, 6])
    assert [bar.get_height() for bar in yacht.patches] == pytest.approx([0.5])
    ours, theirs = [c for c in boston.containers if isinstance(c, ErrorbarContainer)][:2]
    low, high = ours[2][0].get_segments()[0][:, 1]
    assert (low, high) == pytest.approx((5 - math.sqrt(size), 5 + math.sqrt(size)))
    assert theirs[0].get_ydata().tolist() == [3.58808, 3.85754]
    low, high = theirs[2][0].get_segments()[0][:, 1]
    assert (high - low) / 2 == pytest.approx(0.20933 * math.sqrt(splits))
    named = figure.legends[0].get_texts()[0].get_text().replace("\n", " ")
    assert named.startswith(f"published mean ± {ERRORS[error]}")
    assert [name.get_text() for name in boston.get_xticklabels()] == ["bbb_x1", "vadam"]


def test_bars_of_many_runs_lie_with_their_names_beside(tmp_path: Path) -> None:
    for depth in range(MANY + 1):
        lost = {"diverged": 1, "rmse": math.nan} if depth == 3 else {}
        scores = {"rmse": np.array(RMSE) + depth, **lost}
        make_run(tmp_path, f"v{depth:02d}", depth=depth, **scores)
    (axes,) = bars_figure(with_published(read_runs(tmp_path)), ERROR).axes
    names = [name.get_text() for name in axes.get_yticklabels()]
    assert names == [f"bbb_x1, depth {depth}" for depth in range(MANY + 1)]
    lengths = [bar.get_width() for bar in axes.patches]
    assert lengths[4:] == pytest.approx([5 + depth for depth in range(4, MANY + 1)])
    assert [mean.get_text() for mean in axes.texts][2:5] == ["7", "diverged", "9"]
    assert axes.yaxis_inverted()


def test_a_lost_run_is_named_where_its_bar_would_stand(tmp_path: Path) -> None:
    make_run(tmp_path, diverged=1, rmse=math.nan)
    make_run(tmp_path, method="pbp")
    (axes,) = bars_figure(with_published(read_runs(tmp_path)), ERROR).axes
    assert "diverged" in [text.get_text().strip() for text in axes.texts]


def test_bars_that_dwarf_the_others_bend_the_axis_and_long_names_lay_them_down(
    tmp_path: Path,
) -> None:
    for k, score in enumerate((-1.0, -2.0, -4.0, -4e5)):
        make_run(tmp_path, log_likelihood=score, method=f"method_with_a_rather_long_name_of_{k}")
    table = with_published(read_runs(tmp_path))
    (axes,) = bars_figure(table, LIKELIHOOD).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "symlog")
    assert axes.get_ylabel() == "logarithmic beyond 10"
    longer = table.assign(method="and_longer_" + table["method"])
    (axes,) = bars_figure(longer, LIKELIHOOD).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("symlog", "linear")
    (axes,) = bars_figure(table.iloc[:3], LIKELIHOOD).axes
    assert axes.get_yscale() == "linear"


def test_panels_that_no_data_set_needs_are_hidden(tmp_path: Path) -> None:
    for k in range(5):
        make_run(tmp_path, dataset=f"set_{k}")
    panels = bars_figure(with_published(read_runs(tmp_path)), ERROR).axes
    assert [axes.get_visible() for axes in panels] == [True] * 5 + [False] * 3


def test_no_bar_of_an_rmse_reaches_below_zero(tmp_path: Path) -> None:
    make_run(tmp_path, rmse=np.array([1.0, 1.0, 1.0, 60.0]))
    (axes,) = bars_figure(with_published(read_runs(tmp_path)), ERROR).axes
    assert axes.get_ylim()[0] == 0
