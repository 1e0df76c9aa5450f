"""Bar charts over runs: bars, error bars, published values and layout."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from matplotlib.container import ErrorbarContainer
from support.runs import RMSE, make_run

from bnnbench.report.blocks import ERROR_BARS
from bnnbench.report.figures.bar_charts import MAX_RUNS, bars_figure
from bnnbench.report.figures.inline_svg import name_marks
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.published.comparison import with_published
from bnnbench.results.reader import read_runs

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
    assert named.startswith(f"published mean ± {ERROR_BARS[error]}")
    assert [name.get_text() for name in boston.get_xticklabels()] == ["bbb_x1", "vadam"]


@pytest.mark.parametrize("metric", ["rmse", "log_likelihood"])
def test_many_runs_are_drawn_as_horizontal_bars_of_the_best(tmp_path: Path, metric: str) -> None:
    sign = BY_KEY[metric].sign
    for depth in range(MAX_RUNS + 2):
        lost = {"diverged": 1, metric: math.nan} if depth == 3 else {}
        # The later ones are the better ones.
        scores = {metric: sign * (np.array(RMSE) + MAX_RUNS - depth), **lost}
        make_run(tmp_path, f"v{depth:02d}", depth=depth, **scores)
    figure = bars_figure(with_published(read_runs(tmp_path)), BY_KEY[metric])
    (axes,) = figure.axes
    shown = [depth for depth in range(1, MAX_RUNS + 2) if depth != 3]
    names = [name.get_text() for name in axes.get_yticklabels()]
    assert names == [f"bbb_x1, depth {depth}" for depth in shown]
    lengths = [bar.get_width() for bar in axes.patches]
    assert lengths == pytest.approx([sign * (5 + MAX_RUNS - depth) for depth in shown])
    assert [mean.get_text() for mean in axes.texts][:2] == [f"{sign * v:.3g}" for v in (28, 27)]
    assert axes.yaxis_inverted()
    title = figure.legends[0].get_title().get_text() if figure.legends else figure.get_suptitle()
    assert f"best {MAX_RUNS} runs per data set, 2 more" in " ".join(title.split())


def test_the_hover_text_of_a_published_value_has_its_source(tmp_path: Path) -> None:
    make_run(tmp_path)
    figure = bars_figure(with_published(read_runs(tmp_path)), ERROR)
    figure.draw_without_rendering()
    hover_texts = [text for texts in name_marks(figure).values() for text in texts]
    assert "boston, bbb_x1: 5" in hover_texts
    assert "boston, published, Khan et al. 2018: BBVI, bbb_x1: 3.588" in hover_texts


def test_a_diverged_run_is_labelled(tmp_path: Path) -> None:
    make_run(tmp_path, diverged=1, rmse=math.nan)
    make_run(tmp_path, method="pbp")
    (axes,) = bars_figure(with_published(read_runs(tmp_path)), ERROR).axes
    assert "diverged" in [text.get_text().strip() for text in axes.texts]


def test_extreme_means_give_a_log_axis_and_long_names_horizontal_bars(tmp_path: Path) -> None:
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


def test_unused_panels_are_hidden(tmp_path: Path) -> None:
    for k in range(5):
        make_run(tmp_path, dataset=f"set_{k}")
    panels = bars_figure(with_published(read_runs(tmp_path)), ERROR).axes
    assert [axes.get_visible() for axes in panels] == [True] * 5 + [False] * 3


def test_the_axis_of_rmse_starts_at_zero(tmp_path: Path) -> None:
    make_run(tmp_path, rmse=np.array([1.0, 1.0, 1.0, 60.0]))
    (axes,) = bars_figure(with_published(read_runs(tmp_path)), ERROR).axes
    assert axes.get_ylim()[0] == 0
