"""Figures of one run, each a pure function from its tables to a `Figure`.

Figures are built without pyplot: no global state, no display, nothing to close.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.files import write_atomically
from bnnbench.results.calibration import RECALIBRATED, coverage, learn, mended_groups

PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")
"""Okabe & Ito (2008): eight colours told apart with any colour vision."""

BLUE, ORANGE, GREY = PALETTE[0], PALETTE[5], "#666666"

Style = dict[str, Any]

MOST_POINTS, MOST_BARS = 5000, 150
"""Test points and error bars drawn in one scatter; more only blacken the page."""


def sketch(
    width: float, height: float, columns: int = 1, rows: int = 1
) -> tuple[Figure, list[Axes]]:
    """An empty figure, inches, with panels row by row and nothing cut off at its edges."""
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def legend(figure: Figure, axes: Axes, columns: int = 4) -> None:
    """The legend of `axes` above the panels, where it covers no data."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=columns, frameon=False)


def save(figure: Figure, path: Path) -> None:
    """Writes a PNG (150 dots per inch) or PDF, the same bytes for the same figure."""
    suffix = path.suffix.lstrip(".")
    metadata = {"CreationDate": None} if suffix == "pdf" else {"Software": None}
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        write_atomically(
            path, lambda file: figure.savefig(file, format=suffix, dpi=150, metadata=metadata)
        )


def unit(target: str) -> str:
    """The bracketed unit that ends a target's name, with a space before it, or nothing."""
    found = re.search(r"\[[^\]]*\]\s*$", target)
    return f" {found.group().strip()}" if found else ""


def predictions_figure(points: pd.DataFrame, target: str) -> Figure:
    """Predicted against observed targets, with one standard deviation on each side.

    Args:
        points: columns `target`, `mean`, `epistemic_variance` and `noise_variance`, original
            units; rows that are not finite (diverged splits) are left out.
        target: the target's name and unit.
    """
    points = points[np.isfinite(points).all(axis=1)]
    drawn = points.sample(min(len(points), MOST_POINTS), random_state=0)
    barred = drawn.iloc[:MOST_BARS]
    epistemic = np.sqrt(barred["epistemic_variance"])
    total = np.sqrt(barred["epistemic_variance"] + barred["noise_variance"])
    figure, (axes,) = sketch(6, 6.3)
    # Rasterised: no viewer scrolls smoothly over a PDF of thousands of marks.
    dots: Style = {"color": GREY, "s": 5, "alpha": 0.5, "linewidths": 0, "rasterized": True}
    axes.scatter(drawn["target"], drawn["mean"], label="predictive mean", **dots)
    bars: Style = {"fmt": "none", "rasterized": True}
    light: Style = {"ecolor": "#8FC1E3", "elinewidth": 0.8, "label": "± total standard deviation"}
    dark: Style = {"ecolor": BLUE, "elinewidth": 1.6, "label": "± epistemic standard deviation"}
    axes.errorbar(barred["target"], barred["mean"], total, **bars, **light)
    axes.errorbar(barred["target"], barred["mean"], epistemic, **bars, **dark)
    axes.axline((0, 0), slope=1, color=ORANGE, linewidth=1, zorder=4, label="perfect prediction")
    if len(drawn):
        low, high = (f(drawn[["target", "mean"]].to_numpy()) for f in (np.min, np.max))
        margin = 0.06 * (high - low) or 1.0
        axes.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
    axes.set_aspect("equal")
    # A user's "$" is a currency, not the start of a formula.
    axes.set_xlabel(f"observed {target}", parse_math=False)
    axes.set_ylabel(f"predicted {target}", parse_math=False)
    title = f"{len(drawn)} of {len(points)} test points, error bars on {len(barred)}"
    axes.set_title(title, fontsize="medium")
    legend(figure, axes, columns=2)
    return figure


def best_so_far(search: pd.DataFrame) -> pd.DataFrame:
    """The best objective after each evaluation: one row per evaluation, one column per split."""
    order = search.sort_values(["split", "iteration"])
    number = order.groupby("split").cumcount() + 1
    # A diverged evaluation has no objective: it never is the best.
    objective = order["objective"].where(np.isfinite(order["objective"]), -np.inf)
    best = objective.groupby(order["split"]).cummax().replace(-np.inf, np.nan)
    return order.assign(number=number, best=best).pivot(
        index="number", columns="split", values="best"
    )


def search_figure(search: pd.DataFrame, initial: int = 5) -> Figure:
    """How the hyper-parameter search went.

    Left, the best objective (mean validation log-likelihood) after each evaluation: the median
    over splits, its quartile band and each split; the random phase is shaded. Right, where both
    were searched, the noise and prior precisions tried, the chosen ones ringed.

    Args:
        search: rows of `search.csv`.
        initial: evaluations placed at random before the search learns.
    """
    pair = ["hp.noise_precision", "hp.prior_precision"]
    finite = search[np.isfinite(search["objective"])]
    both = len(finite) > 0 and set(pair) <= set(search)
    figure, panels = sketch(11 if both else 6.4, 4.8, 2 if both else 1)
    axes, best = panels[0], best_so_far(search)
    low, middle, high = (best.quantile(q, axis=1) for q in (0.25, 0.5, 0.75))
    axes.axvspan(0.5, initial + 0.5, color="#EEEEEE", zorder=0, label="random phase")
    for number, split in enumerate(best):
        name = "" if number else "one split"
        axes.plot(best.index, best[split], color=GREY, linewidth=0.5, alpha=0.6, label=name)
    axes.fill_between(best.index, low, high, color=BLUE, alpha=0.25, label="quartiles over splits")
    axes.plot(best.index, middle, color=BLUE, linewidth=2, label="median over splits")
    if low.notna().any():
        # The first, random points of some splits are so bad that they would flatten the rest.
        floor, top = low.min(), best.max(axis=None)
        margin = 0.06 * (top - floor) or 0.1
        axes.set_ylim(floor - margin, top + margin)
    axes.set_xlim(0.5, len(best) + 0.5)
    axes.set(xlabel="evaluation", ylabel="best mean validation log-likelihood so far [nats]")
    legend(figure, axes)
    if both:
        _tried(figure, panels[1], finite)
    return figure


def _tried(figure: Figure, axes: Axes, search: pd.DataFrame) -> None:
    shown = search.sort_values("objective")
    x, y = shown["hp.noise_precision"], shown["hp.prior_precision"]
    low = shown["objective"].quantile(0.1)
    colours = axes.scatter(x, y, c=shown["objective"], cmap="viridis", vmin=low, s=16)
    best = shown.loc[shown.groupby("split")["objective"].idxmax()]
    ring: Style = {"facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.6, "s": 70}
    axes.scatter(best["hp.noise_precision"], best["hp.prior_precision"], **ring)
    axes.set(xscale="log", yscale="log", ylabel="prior precision (standardised units)")
    axes.set_xlabel("noise precision (standardised units)")
    axes.set_title("tried by all splits; chosen ones ringed", fontsize="medium")
    figure.colorbar(colours, ax=axes, extend="min", label="mean validation log-likelihood [nats]")


def splits_figure(splits: pd.DataFrame, target: str) -> Figure:
    """RMSE and log-likelihood of each split, with their mean and standard error beside.

    Args:
        splits: rows of `splits.csv`; the diverged ones are marked at the bottom.
        target: the target's name and unit.
    """
    kept, lost = splits[splits["diverged"] == 0], splits[splits["diverged"] != 0]
    figure, panels = sketch(10, 4, 2)
    side = splits["split"].max() + 2
    names = {"rmse": f"test RMSE{unit(target)}", "log_likelihood": "test log-likelihood [nats]"}
    for axes, (metric, name) in zip(panels, names.items(), strict=True):
        axes.plot(kept["split"], kept[metric], "o", color=BLUE, label="one split")
        mean = kept[metric].mean()
        axes.errorbar(
            side,
            mean,
            kept[metric].std(ddof=1) / np.sqrt(max(len(kept), 1)),
            fmt="D",
            color=ORANGE,
            capsize=4,
            label="mean ± standard error",
        )
        axes.axhline(mean, color=ORANGE, linewidth=0.7, zorder=0)
        if len(lost):
            floor: Style = {"transform": axes.get_xaxis_transform(), "clip_on": False}
            axes.plot(lost["split"], [0.02] * len(lost), "x", color=GREY, label="diverged", **floor)
        axes.set_xlabel("split")
        axes.set_ylabel(name, parse_math=False)
        numbers = np.unique(np.linspace(splits["split"].min(), side - 2, 6).astype(int))
        axes.set_xticks([*numbers, side], [*map(str, numbers), "mean"])
    legend(figure, panels[0])
    return figure


def calibration_figure(points: pd.DataFrame, held_out: pd.DataFrame | None = None) -> Figure:
    """Reliability: how often credible intervals hold the target, over their nominal levels.

    The predictive density is taken as a Gaussian with the total variance (epistemic + noise).
    Where out-of-fold predictions are there, the curves after recalibration stand beside it, as
    in the book's Fig. 4.2.

    Args:
        points: as for `predictions_figure`, and `split`.
        held_out: the same of the training part, out of fold.
    """
    points = points[np.isfinite(points).all(axis=1)]
    levels = np.linspace(0.01, 0.99, 99)
    figure, (axes,) = sketch(5.8, 6.5)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle="--", label="calibrated")
    if len(points):
        curves = np.array([coverage(group, levels) for _, group in points.groupby("split")])
        low, high = np.quantile(curves, (0.25, 0.75), axis=0)
        axes.fill_between(levels, low, high, color=BLUE, alpha=0.2, label="quartiles over splits")
        axes.plot(levels, coverage(points, levels), color=BLUE, linewidth=2, label="as predicted")
    for name, colour in zip(RECALIBRATED, (PALETTE[2], ORANGE), strict=True):
        learned = {} if held_out is None else learn(held_out, name)
        groups = [(len(g), coverage(g, levels, m)) for g, m in mended_groups(points, learned)]
        if groups:
            counts, curves = (np.array(part) for part in zip(*groups, strict=True))
            pooled = np.average(curves, axis=0, weights=counts)
            axes.plot(levels, pooled, color=colour, linewidth=1.5, label=RECALIBRATED[name])
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_xlabel("nominal level of the credible interval (Gaussian, total variance)")
    axes.set_ylabel("share of test targets inside")
    axes.set_aspect("equal")
    note: Style = {"transform": axes.transAxes, "color": GREY, "fontsize": "small"}
    axes.text(0.03, 0.95, "too cautious: intervals too wide", **note)
    axes.text(0.97, 0.04, "too sure: intervals too narrow", ha="right", **note)
    legend(figure, axes, columns=2)
    return figure
