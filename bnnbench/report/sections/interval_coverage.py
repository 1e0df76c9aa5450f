"""Coverage of mean ± k standard deviations, on one-dimensional data (GVI thesis, Figs. 5.10-12)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import ndtr

from bnnbench.report import blocks
from bnnbench.report.figures import plotting
from bnnbench.report.sections.curves import panel_columns
from bnnbench.results.read.labels import common_settings
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.curves import Curve, range_masks, read_curves

HALF_WIDTHS = np.linspace(0.1, 3, 30)
"""Half-widths of the intervals, in total predictive standard deviations."""

ONE_SIGMA = float(ndtr(1) - ndtr(-1))

SMALL_HALF_WIDTH = 0.7
"""Intervals of a smaller half-width count as small."""

METADATA_COLUMNS = ("run", "experiment", "dataset", "method", "divergence", "depth", "label")

COLUMNS = blocks.columns(
    {"Method": "{label}"},
    {"Depth": "{depth}", "1 sigma coverage": "{inside_1:.2f}", "Difference": "{difference:.2f}"},
)

CAPTION = (
    "Fraction of test targets within k standard deviations, one line per run; dashed line: Gaussian"
)

SIGMA_STATEMENT = (
    "The fraction of noisy test targets within k total predictive standard deviations of the "
    "predictive mean, at test inputs within the range of the training inputs. A Gaussian covers "
    "0.683 at k = 1. Above the Gaussian curve a model is underconfident, below it overconfident."
)


def gaussian_coverage(steps: np.ndarray) -> np.ndarray:
    """Return the mass of a Gaussian within each number of standard deviations."""
    return np.asarray(ndtr(steps) - ndtr(-steps))


def coverage_of_curve(curve: Curve, steps: np.ndarray = HALF_WIDTHS) -> np.ndarray:
    """Return the fraction of targets within each number of deviations, in the training range."""
    within = range_masks(curve)["in"]
    error = (curve.grid["target"] - curve.grid["mean"]).abs()
    distance = (error / curve.deviation)[within].to_numpy()
    return np.asarray((distance <= steps[:, None]).mean(axis=1))


def sigma_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """Return a row per run.

    Columns: the run's metadata, the number of `points`, the fractions `inside_1` to `inside_3`,
    the `difference` of the first from a Gaussian's, and `small_interval_excess`, the mean excess
    over a Gaussian's below `SMALL_HALF_WIDTH` deviations.
    """
    rows = []
    low = HALF_WIDTHS[HALF_WIDTHS < SMALL_HALF_WIDTH - 1e-9]
    for curve in curves:
        fractions = coverage_of_curve(curve, np.array([1.0, 2.0, 3.0]))
        excess = coverage_of_curve(curve, low) - gaussian_coverage(low)
        rows.append({
            **{name: curve.run[name] for name in METADATA_COLUMNS},
            "points": int(range_masks(curve)["in"].sum()),
            **{f"inside_{k}": fraction for k, fraction in enumerate(fractions, 1)},
            "difference": abs(fractions[0] - ONE_SIGMA),
            "small_interval_excess": excess.mean(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Coverage inside the range of the training inputs, for one-dimensional runs."""
    curves = runs.cached(read_curves)
    if not curves:
        return
    table = sigma_table(curves)
    title = common_settings(pd.DataFrame([curve.run for curve in curves]))
    yield from blocks.tables_by_dataset(
        "Coverage of mean ± k standard deviations", SIGMA_STATEMENT, COLUMNS, table
    )
    yield blocks.DataFile("sigma", table)
    yield blocks.FigureBlock("sigma", CAPTION, partial(interval_coverage_figure, curves, title))


def interval_coverage_figure(curves: Sequence[Curve], title: str = "") -> Figure:
    """Draw a panel per data set and depth, and a line per run."""
    columns_by_curve = panel_columns(curves)
    labels = [str(curve.run["label"]) for curve in curves]
    columns, names = list(dict.fromkeys(columns_by_curve)), list(dict.fromkeys(labels))
    figure, panels = plotting.small_multiples(len(columns), 3, (3.4, 4.2), (0.4, 0.4), 5.5)
    for axes, column in zip(panels, columns, strict=True):
        axes.plot(
            HALF_WIDTHS,
            gaussian_coverage(HALF_WIDTHS),
            color="black",
            linewidth=1.2,
            linestyle="--",
            label="Gaussian",
        )
        for curve, place, label in zip(curves, columns_by_curve, labels, strict=True):
            if place == column:
                style = plotting.line_style(names.index(label), ("-", "-.", ":"))
                axes.plot(
                    HALF_WIDTHS, coverage_of_curve(curve), linewidth=1.2, label=label, **style
                )
        axes.axvline(1, color=plotting.GREY, linewidth=0.5)
        axes.set(xlim=(0, 3), ylim=(0, 1.02), xlabel="k [total predictive standard deviations]")
        plotting.panel_title(axes, column, 3.0, "medium")
    panels[0].set_ylabel("fraction of test targets inside")
    plotting.legend(figure, panels, columns=len(names) + 1, title=title)
    return figure
