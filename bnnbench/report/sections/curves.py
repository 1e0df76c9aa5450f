"""Predictions on one-dimensional synthetic data (book, Figs. 4.12, 4.13; GVI thesis, Fig. 5.8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report import blocks
from bnnbench.report.figures import plotting
from bnnbench.results.read.labels import common_settings
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.curves import Curve, curve_table, read_curves

MAX_ROWS = 8
"""Rows of panels in one figure. Further runs are drawn in further figures."""

CURVES_STATEMENT = (
    "Inside: test inputs within the range of the training inputs. Outside: test inputs farther "
    "from this range than a quarter of its width. RMSE is the error of the predictive mean with "
    "respect to the noise-free function. Epistemic and total standard deviations are averages "
    "over test inputs. The last columns give the fraction of noisy test targets inside the "
    "central 95 % interval (mean ± 1.96 total standard deviations). There is one split, hence no "
    "standard error."
)

COLUMNS = blocks.columns(
    {"Method": "{label}"},
    {
        "Depth": "{depth}",
        **{
            f"{title}, {where}": f"{{{name}_{where}:.3g}}"
            for name, title in {
                "rmse": "RMSE to the true function",
                "epistemic": "epistemic std",
                "total": "total std",
                "coverage_95": "95 % coverage",
            }.items()
            for where in ("in", "out")
        },
    },
)

CAPTION = (
    "Predictions along the input. Bands: predictive mean ± 2 total (light) and ± 2 epistemic "
    "(dark) standard deviations; dashed line: true function; dots: training data"
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """A table per data set and a panel per run on one-dimensional data."""
    curves = runs.cached(read_curves)
    if not curves:
        return
    table = curve_table(curves)
    yield from blocks.tables_by_dataset(
        "Predictive distribution along the input", CURVES_STATEMENT, COLUMNS, table
    )
    yield blocks.DataFile("curves", table)
    names = list(dict.fromkeys(curve.run["label"] for curve in curves))
    for number, chunk in enumerate(blocks.even_chunks(names, MAX_ROWS), 1):
        shown = [curve for curve in curves if curve.run["label"] in chunk]
        draw = partial(curves_figure, shown, common_settings(pd.DataFrame([c.run for c in shown])))
        yield blocks.FigureBlock(blocks.numbered_name("curves", number), CAPTION, draw)


def panel_columns(curves: Sequence[Curve]) -> list[str]:
    """The column of panels of each curve: its data set, and its depth if depths differ."""
    deep = len({str(curve.run["depth"]) for curve in curves}) > 1
    form = "{dataset} · depth {depth}" if deep else "{dataset}"
    return [form.format(**curve.run) for curve in curves]


def draw_curve(axes: Axes, curve: Curve) -> None:
    """Draw data, true function, predictive mean, and bands of ± 2 standard deviations."""
    grid = curve.grid
    x, mean = grid["input"], grid["mean"]
    epistemic = 2 * np.sqrt(grid["epistemic_variance"])
    total = 2 * curve.deviation
    band: plotting.PlotOptions = {"linewidth": 0}
    axes.fill_between(x, mean - total, mean + total, color="#D5E7F4", label="± 2 total std", **band)
    axes.fill_between(
        x, mean - epistemic, mean + epistemic, color="#8FC1E3", label="± 2 epistemic std", **band
    )
    axes.plot(
        x, grid["truth"], color=plotting.GREY, linewidth=1, linestyle="--", label="true function"
    )
    axes.plot(x, mean, color=plotting.BLUE, linewidth=1.5, label="predictive mean")
    axes.plot(
        curve.training["input"],
        curve.training["target"],
        ".",
        color=plotting.ORANGE,
        markersize=3,
        label="training data",
    )
    # Bands may be huge outside the data, so scale by the true function and the data.
    seen = pd.concat([curve.training["target"], grid["truth"]])
    margin = 0.35 * np.ptp(seen)
    axes.set(xlim=(x.min(), x.max()), ylim=(seen.min() - margin, seen.max() + margin))


def curves_figure(curves: Sequence[Curve], title: str = "") -> Figure:
    """Draw a panel per run, in a row per label and a column per data set and depth.

    Book, Figs. 4.12 and 4.13; GVI thesis, Figs. 5.8, 5.9 and 7.2.
    """
    rows = list(dict.fromkeys(str(curve.run["label"]) for curve in curves))
    columns_by_curve = panel_columns(curves)
    columns = list(dict.fromkeys(columns_by_curve))
    headings = {
        plotting.wrap_text(f"{row} · {column}", 3.0, plotting.SMALL_POINTS)
        for row in rows
        for column in columns
    }
    high = 2.0 + 0.15 * max(heading.count("\n") for heading in headings)
    shape = len(rows), len(columns)
    figure, grid = plotting.panel_grid(*shape, (3.4, high), (0.4, 0.8), 5.5)
    for axes in grid.flat:
        axes.set_visible(False)
    for curve, place in zip(curves, columns_by_curve, strict=True):
        row, column = rows.index(str(curve.run["label"])), columns.index(place)
        axes = grid[row, column]
        axes.set_visible(True)
        draw_curve(axes, curve)
        plotting.panel_title(axes, f"{rows[row]} · {columns[column]}", 3.0)
    figure.supxlabel("x", fontsize="small")
    figure.supylabel("y", fontsize="small")
    shown = [axes for axes in grid.flat if axes.get_visible()]
    plotting.legend(figure, shown, columns=5, title=title)
    return figure
