"""Figures of one run on train/test splits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from bnnbench.experiment.store.split_files import LOG_MEAN
from bnnbench.portable_math import total_deviation
from bnnbench.report.blocks import unit_suffix
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    PlotOptions,
    label_axes,
    legend,
    new_figure,
    set_equal_axes,
)
from bnnbench.results.metric_table import printed_in
from bnnbench.results.score.calibration import RECALIBRATION_NAMES, coverage, recalibrated_splits
from bnnbench.results.score.run_notes import MAX_R_HAT


def best_so_far(search: pd.DataFrame) -> pd.DataFrame:
    """The best objective after each evaluation: one row per evaluation, one column per split."""
    order = search.sort_values(["split", "iteration"])
    number = order.groupby("split").cumcount() + 1
    # A diverged evaluation has no objective, so it is never the best.
    objective = order["objective"].where(np.isfinite(order["objective"]), -np.inf)
    best = objective.groupby(order["split"]).cummax().replace(-np.inf, np.nan)
    return order.assign(number=number, best=best).pivot(
        index="number", columns="split", values="best"
    )


def search_figure(search: pd.DataFrame, initial: int, name: str = "") -> Figure:
    """Draw the progress of a hyper-parameter search and the values tried.

    The first panel shows the best objective (mean validation log-likelihood) after each evaluation:
    every split, the median and the quartiles over splits, with the random phase, if any, shaded.
    Further panels show the values tried for each pair of hyper-parameters, or the objective against
    a single one, with circles around the chosen values. `initial` is the number of random
    evaluations at the start.
    """
    finite = search[np.isfinite(search["objective"])]
    varied = [str(c) for c in finite if str(c).startswith("hp.") and finite[c].nunique() > 1]
    pairs = list(combinations(varied, 2)) or [(column, "objective") for column in varied]
    columns, rows = min(2, 1 + len(pairs)), 1 + len(pairs) // 2
    figure, panels = new_figure(1.7 + 3.6 * columns, 0.7 + 3.7 * rows, columns, rows)
    _progress_panel(panels[0], best_so_far(search), initial)
    cloud = None
    for axes, (x, y) in zip(panels[1:], pairs, strict=False):
        cloud = _trials_panel(axes, finite, x, y)
    if cloud is not None:  # the same colours in all panels
        label = "nats below the best of the split"
        bar: PlotOptions = {"pad": 0.02, "aspect": 20 * rows}
        figure.colorbar(cloud, ax=panels[1::2], extend="max", label=label, **bar)
    for axes in panels[1 + len(pairs) :]:
        axes.set_visible(False)
    legend(figure, panels[:2], columns=5, title=name)
    return figure


def _progress_panel(axes: Axes, best: pd.DataFrame, initial: int) -> None:
    """Draw the best objective so far after each evaluation."""
    low, middle, high = (best.quantile(q, axis=1) for q in (0.25, 0.5, 0.75))
    if initial:
        axes.axvspan(0.5, initial + 0.5, color="#EEEEEE", zorder=0, label="random phase")
    for number, split in enumerate(best):
        label = "" if number else "one split"
        axes.plot(best.index, best[split], color=GREY, linewidth=0.5, alpha=0.6, label=label)
    axes.fill_between(best.index, low, high, color=BLUE, alpha=0.25, label="quartiles over splits")
    axes.plot(best.index, middle, color=BLUE, linewidth=2, label="median over splits")
    # Limits ignore the random phase, whose first points may be very bad.
    learned = low[low.index >= initial]
    if learned.notna().any():
        floor, top = learned.min(), best.max(axis=None)
        floor = min(floor, best.iloc[-1].min())
        margin = 0.06 * (top - floor) or 0.1
        axes.set_ylim(floor - margin, top + margin)
    axes.set_xlim(0.5, len(best) + 0.5)
    label_axes(axes, "evaluation", "best validation log-likelihood [nats]")


def _trials_panel(axes: Axes, search: pd.DataFrame, x: str, y: str) -> PathCollection:
    """Draw every evaluation by two of its values, darker for lower objectives."""
    best = search.groupby("split")["objective"].transform("max")
    # Draw the best last, on top.
    shown = search.assign(below=best - search["objective"]).sort_values("below", ascending=False)
    style: PlotOptions = {"cmap": "viridis_r", "vmin": 0, "s": 14, "linewidths": 0}
    worst = shown["below"].quantile(0.75) or 1.0
    cloud = axes.scatter(shown[x], shown[y], c=shown["below"], vmax=worst, **style)
    chosen = search.loc[search.groupby("split")["objective"].idxmax()]
    ring: PlotOptions = {"facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.6, "s": 70}
    axes.scatter(chosen[x], chosen[y], label="chosen in one split", **ring)
    axes.set_xscale("log")
    if y == "objective":
        low = search[y].quantile(0.1)
        axes.set_ylim(low, search[y].max() + 0.06 * (search[y].max() - low))
    else:
        axes.set_yscale("log")
    label_axes(axes, _axis_label(x), _axis_label(y))
    return cloud


def _axis_label(column: str) -> str:
    """The label of an axis that shows a column such as `hp.noise_precision`."""
    if column == "objective":
        return "validation log-likelihood [nats]"
    words = column.removeprefix("hp.").replace("_", " ")
    return f"{words} (standardised units)" if "precision" in words else words


def splits_figure(splits: pd.DataFrame, target: str, name: str = "") -> Figure:
    """Draw RMSE and log-likelihood of each split, and their means with standard errors.

    Diverged splits are marked at the bottom.
    """
    valid, diverged = splits[splits["diverged"] == 0], splits[splits["diverged"] != 0]
    figure, panels = new_figure(10, 4, 2)
    first, last = splits["split"].min(), splits["split"].max()
    side = last + max(2, 0.1 * (last - first))
    for axes, metric in zip(panels, printed_in("figures"), strict=True):
        scores = valid[metric.key]
        axes.plot(valid["split"], scores, "o", color=BLUE, label="one split")
        mean, error = scores.mean(), scores.sem()
        diamond: PlotOptions = {"fmt": "D", "color": ORANGE, "capsize": 4}
        axes.errorbar(side, mean, error, label="mean ± standard error", **diamond)
        axes.axhline(mean, color=ORANGE, linewidth=0.7, zorder=0)
        if len(diverged):
            floor = np.full(len(diverged), 0.02)
            cross: PlotOptions = {"transform": axes.get_xaxis_transform(), "clip_on": False}
            axes.plot(diverged["split"], floor, "x", color=GREY, label="diverged", **cross)
        in_target = metric.unit == "target"
        in_unit = f"test {metric.inline_title}{unit_suffix(target)}"
        label_axes(axes, "split", in_unit if in_target else metric.axis)
        numbers = np.unique(np.linspace(first, last, 5).round().astype(int))
        axes.set_xticks([*numbers, side], [*map(str, numbers), "mean"])
    legend(figure, panels, title=name)
    return figure


MAX_DOTS = 2500
"""Test points drawn individually. With more their density is drawn."""

MAX_ERROR_BARS = 48
"""Points with error bars. With more they would overlap."""

LEVELS = np.array((0.5, 0.95))
"""Credible levels whose coverage is printed."""

PALE = "#8FC1E3"


def predictions_figure(points: pd.DataFrame, target: str, name: str = "") -> Figure:
    """Draw predicted against observed targets, some with error bars of ± 1 standard deviation.

    Args:
        points: columns `target`, `mean`, `epistemic_variance` and `noise_variance`, original
            units; rows with values that are not finite (diverged splits) are excluded.
        target: the target's name and unit.
        name: the name of the run.
    """
    points = points[np.isfinite(points).all(axis=1)]
    dense = len(points) > MAX_DOTS
    figure, (axes,) = new_figure(6, 6.0 if dense else 6.7)
    low, high = limits(points)
    axes.set(xlim=(low, high), ylim=(low, high))
    set_equal_axes(axes)
    (_density if dense else _dots)(axes, points)
    barred = evenly_by_target(points, MAX_ERROR_BARS)
    bars: PlotOptions = {"fmt": "none", "rasterized": True, "zorder": 3}
    pale: PlotOptions = {"ecolor": PALE, "elinewidth": 1.2, "label": "± total standard deviation"}
    dark: PlotOptions = {
        "ecolor": BLUE,
        "elinewidth": 2.4,
        "label": "± epistemic standard deviation",
    }
    x, y = barred["target"], barred["mean"]
    axes.errorbar(x, y, total_deviation(barred), **bars, **pale)
    axes.errorbar(x, y, np.sqrt(barred["epistemic_variance"]), **bars, **dark)
    if dense:  # grey dots would be invisible on the grey density
        axes.plot(x, y, "o", color="black", markersize=2.5, zorder=4, label="predictive mean")
    axes.axline((0, 0), slope=1, color=ORANGE, linewidth=1, zorder=2, label="perfect prediction")
    label_axes(axes, f"observed {target}", f"predicted {target}")
    legend(figure, axes, columns=2, title=f"{name}\n{summary_text(points, len(barred))}".strip())
    return figure


def limits(points: pd.DataFrame) -> tuple[float, float]:
    """Limits of both axes: all targets and all but extreme predictions."""
    if points.empty:
        return 0.0, 1.0
    low, high = points["target"].min(), points["target"].max()
    room = (high - low) or 1.0
    mean = points["mean"].clip(low - 0.5 * room, high + 0.5 * room)
    low, high = min(low, mean.min()), max(high, mean.max())
    margin = 0.04 * (high - low)
    return float(low - margin), float(high + margin)


def evenly_by_target(points: pd.DataFrame, count: int) -> pd.DataFrame:
    """Select points evenly by the rank of their target, independently of the predictions.

    At most one point per target value, so that error bars do not overlap.
    """
    order = points.sort_values("target", kind="stable")
    places = np.linspace(0, len(order) - 1, min(count, len(order))).astype(int)
    return order.iloc[places].drop_duplicates("target")


def summary_text(points: pd.DataFrame, barred: int) -> str:
    """The number of points, of points beyond the limits, and the coverage of intervals."""
    if points.empty:
        return "no test points"
    low, high = limits(points)
    outside = int((~points["mean"].between(low, high)).sum())
    beyond = f" ({outside} outside the panel)" if outside else ""
    shares = coverage(points, LEVELS)
    covered = ", ".join(
        f"{100 * level:.0f} % intervals cover {100 * share:.0f} %"
        for level, share in zip(LEVELS, shares, strict=True)
    )
    return f"{len(points)} test points{beyond}, error bars on {barred}\n{covered}"


def _dots(axes: Axes, points: pd.DataFrame) -> None:
    """Draw a dot per point; more points are drawn smaller and fainter."""
    crowd = min(1.0, len(points) / MAX_DOTS)
    # Rasterised, because PDF viewers are slow with thousands of markers.
    style: PlotOptions = {"color": GREY, "linewidths": 0, "rasterized": True, "zorder": 3.5}
    size, opacity = 16 - 11 * crowd**0.5, 0.75 - 0.35 * crowd
    axes.scatter(
        points["target"], points["mean"], s=size, alpha=opacity, label="predictive mean", **style
    )


def _density(axes: Axes, points: pd.DataFrame) -> None:
    """Draw the number of points per cell; single points stay visible."""
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    # Cells narrower than the steps of rounded targets would produce an artificial pattern.
    cells = axes.hexbin(
        points["target"],
        points["mean"],
        gridsize=min(60, max(20, points["target"].nunique() // 2)),
        extent=(low, high, bottom, top),
        mincnt=1,
        bins="log",
        cmap=ListedColormap(colormaps["Greys"](np.linspace(0.25, 0.9, 256))),
        linewidths=0,
        rasterized=True,
    )
    counts = cells.get_array()
    most = 2.0 if counts is None or not len(counts) else max(2.0, float(counts.max()))
    cells.set_clim(1, most)
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.colorbar(
        cells, ax=axes, label="test points per cell", shrink=0.7, pad=0.02, panchor=False
    )


def reliability_figure(
    points: pd.DataFrame, held_out: pd.DataFrame | None = None, name: str = ""
) -> Figure:
    """Draw the coverage of credible intervals against their nominal level.

    The predictive density is approximated by a Gaussian with the total variance (epistemic +
    noise), or by a log-normal. With out-of-fold predictions, curves after recalibration are added,
    as in the book's Fig. 4.2.

    Args:
        points: as for `predictions_figure`, with an additional column `split`.
        held_out: out-of-fold predictions on the training set, in the same form.
        name: the name of the run.
    """
    points = points[np.isfinite(points).all(axis=1)]
    levels = np.linspace(0.01, 0.99, 99)
    figure, (axes,) = new_figure(5.8, 6.5)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="calibrated")
    if len(points):
        curves = np.array([coverage(group, levels) for _, group in points.groupby("split")])
        low, high = np.quantile(curves, (0.25, 0.75), axis=0)
        axes.fill_between(levels, low, high, color=BLUE, alpha=0.2, label="quartiles over splits")
        axes.plot(levels, coverage(points, levels), color=BLUE, linewidth=2, label="as predicted")
    for mending, colour in zip(RECALIBRATION_NAMES, (PALETTE[2], ORANGE), strict=True):
        splits = recalibrated_splits(points, held_out, mending)
        groups = [(len(group), coverage(group, levels, m)) for group, m in splits]
        if groups:
            counts, curves = (np.array(part) for part in zip(*groups, strict=True))
            pooled = np.average(curves, axis=0, weights=counts)
            axes.plot(
                levels, pooled, color=colour, linewidth=1.5, label=RECALIBRATION_NAMES[mending]
            )
    axes.set(xlim=(0, 1), ylim=(0, 1))
    shape = "log-normal" if LOG_MEAN in points else "Gaussian"
    x = f"nominal level of the credible interval ({shape}, total variance)"
    label_axes(axes, x, "fraction of test targets inside")
    set_equal_axes(axes)
    note: PlotOptions = {"transform": axes.transAxes, "color": GREY, "fontsize": "small"}
    axes.text(0.03, 0.95, "underconfident: intervals too wide", **note)
    axes.text(0.97, 0.04, "overconfident: intervals too narrow", ha="right", **note)
    legend(figure, axes, columns=2, title=name)
    return figure


ESS_COLUMNS = {"bulk_ess": ("bulk ESS", BLUE), "tail_ess": ("tail ESS", ORANGE)}


def has_mixing_data(diagnosis: pd.DataFrame) -> bool:
    """Whether R-hat and both effective sample sizes have finite values."""
    columns = ["r_hat", *ESS_COLUMNS]
    return {*columns} <= {*diagnosis} and bool(np.isfinite(diagnosis[columns]).any().all())


def mixing_figure(diagnosis: pd.DataFrame, name: str = "") -> Figure:
    """Draw the distributions of R-hat and of effective sample sizes over test points.

    `diagnosis` has a row per test point with `split`, `r_hat`, `bulk_ess` and `tail_ess`.
    """
    figure, (left, right) = new_figure(9.0, 4.2, 2)
    for number, (_, own) in enumerate(diagnosis.groupby("split")):
        label = "" if number else "one split"
        _shares(left, own["r_hat"], GREY, label, width=0.5)
    _shares(left, diagnosis["r_hat"], BLUE, "all splits", width=2)
    left.axvline(MAX_R_HAT, color=ORANGE, linewidth=1, label=f"convergence limit {MAX_R_HAT}")
    left.axhline(0.99, color=ORANGE, linewidth=1, linestyle=":", label="99 % of test points")
    left.set(xlabel="R-hat at most", ylabel="fraction of test points", ylim=(0, 1.01))
    for column, (label, colour) in ESS_COLUMNS.items():
        _shares(right, diagnosis[column], colour, label, 2, falling=True)
    right.set(xlabel="effective sample size at least", xscale="log", ylim=(0, 1.01))
    legend(figure, [left, right], columns=6, title=name)
    return figure


def _shares(
    axes: Axes, values: pd.Series, colour: str, label: str, width: float, falling: bool = False
) -> None:
    """Draw the fraction of finite values below each value, or above it if `falling`."""
    x = np.sort(values[np.isfinite(values)].to_numpy())
    share = np.arange(1, len(x) + 1) / max(1, len(x))
    y = 1 + share[0] - share if falling and len(x) else share
    axes.step(x, y, where="post", color=colour, linewidth=width, label=label)
