"""Report page of the straight line: figure, table and notes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import damaged_file_error, read_table
from bnnbench.report.blocks import TableBlock, label_columns, number_columns, with_std
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PlotOptions
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.read.labels import short_name
from bnnbench.suites.linear_regression import KIND, POINTS, POSTERIOR

STYLES: Mapping[str, PlotOptions] = {
    "exact": {"color": GREY, "linewidth": 1.6},
    "learned": {"color": BLUE, "linewidth": 2.2},
    "mean field": {"color": ORANGE, "linewidth": 1.4, "linestyle": (0, (4, 3))},
}
"""Line styles in drawing order, so that the mean-field optimum is on top of the learned one."""

COLUMNS = ("truth", "mean", "std", "correlation", "kl")
"""Numbers of `posterior.csv`."""

NAMES = {"exact": "exact posterior", "learned": "learned", "mean field": "mean-field optimum"}

KL_TOLERANCE = 0.05  # nats above the mean-field optimum that trigger a note


def read_posterior(folder: RunFolder) -> pd.DataFrame:
    """Read `posterior.csv`.

    Raises:
        UserError: if the file is damaged.
    """
    table = read_table(folder.table(POSTERIOR), COLUMNS, ("posterior", "weight"))
    if len(table) != 2 * len(STYLES):
        raise damaged_file_error(folder.table(POSTERIOR))
    return table


def line_drawings(folder: RunFolder) -> FigureFunctions:
    """Return the figure of `posterior.csv` and `points.csv`."""
    points = pd.read_csv(folder.table(POINTS))
    return {"posterior": partial(posterior_figure, read_posterior(folder), points)}


def moments(table: pd.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return mean `[2]` and covariance `[2, 2]` of one posterior over `(w0, w1)`."""
    rows = table[table["posterior"] == name].sort_values("weight")
    std, correlation = rows["std"].to_numpy(), rows["correlation"].iloc[0]
    shape = np.array([[1.0, correlation], [correlation, 1.0]])
    return rows["mean"].to_numpy(), shape * np.outer(std, std)


def true_weights(table: pd.DataFrame) -> np.ndarray:
    """Return the `(w0, w1)` that generated the data, NaN if unknown."""
    exact = table[table["posterior"] == "exact"].sort_values("weight")
    return np.asarray(exact["truth"])


def posterior_figure(table: pd.DataFrame, points: pd.DataFrame) -> Figure:
    """Draw the posteriors over the weights and over lines.

    Left: ellipses of 1 and 2 standard deviations (39 % and 86 % of the mass) in the plane of the
    weights, with marginal densities along its sides. Right: the data and, for the learned and the
    exact posterior, the mean line and a band of 2 standard deviations without noise, extended by
    half the data's range on both sides.
    """
    figure = Figure(figsize=(10.6, 5.6), layout="constrained")
    panels = figure.subplot_mosaic(
        [["w0", ".", "line"], ["plane", "w1", "line"]],
        width_ratios=(3.4, 0.9, 5),
        height_ratios=(0.9, 3.4),
    )
    for axes in panels.values():
        axes.spines[["top", "right"]].set_visible(False)
    _plane(panels["plane"], table)
    _marginal(panels["w0"], panels["plane"], table, 0)
    _marginal(panels["w1"], panels["plane"], table, 1)
    _lines(panels["line"], table, points)
    handles, labels = panels["plane"].get_legend_handles_labels()
    line_legend = panels["line"].get_legend_handles_labels()
    handles, labels = handles + line_legend[0], labels + line_legend[1]
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _plane(axes: Axes, table: pd.DataFrame) -> None:
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    for name, style in STYLES.items():
        mean, covariance = moments(table, name)
        ring = np.linalg.cholesky(covariance) @ circle
        for radius in (1, 2):
            x, y = mean[:, None] + radius * ring
            axes.plot(x, y, label=NAMES[name] if radius == 1 else "", **style)
            if name == "exact":
                axes.fill(x, y, color=GREY, alpha=0.12, linewidth=0)
        axes.plot(*mean, "o", color=style["color"], markersize=4)
    weights = true_weights(table)
    if np.isfinite(weights).all():
        star: PlotOptions = {"color": "black", "markersize": 11, "linestyle": "none"}
        axes.plot(*weights, marker="*", label="true weights", **star)
    axes.set(xlabel="$w_0$ (intercept)", ylabel="$w_1$ (slope)")


def _marginal(axes: Axes, plane: Axes, table: pd.DataFrame, weight: int) -> None:
    """Draw the marginal densities of one weight along one side of the plane."""
    vertical = weight == 1
    limits = plane.get_ylim() if vertical else plane.get_xlim()
    grid = np.linspace(*limits, 400)
    for name, style in STYLES.items():
        mean, covariance = moments(table, name)
        variance = covariance[weight, weight]
        density = np.exp(-0.5 * (grid - mean[weight]) ** 2 / variance) / np.sqrt(variance)
        axes.plot(*((density, grid) if vertical else (grid, density)), **style)
    axes.set(**{"ylim" if vertical else "xlim": limits})
    axes.set_axis_off()


def _lines(axes: Axes, table: pd.DataFrame, points: pd.DataFrame) -> None:
    low, high = points["input"].min(), points["input"].max()
    grid = np.linspace(low - 0.5 * (high - low), high + 0.5 * (high - low), 200)
    design = np.stack([np.ones_like(grid), grid], 1)
    axes.axvspan(low, high, color="#F4F4F4", zorder=0, label="range of the data")
    for name, alpha in {"exact": 0.3, "learned": 0.2}.items():
        mean, covariance = moments(table, name)
        line, colour = design @ mean, STYLES[name]["color"]
        spread = 2 * np.sqrt(np.einsum("nk,kl,nl->n", design, covariance, design))
        band: PlotOptions = {"color": colour, "alpha": alpha, "linewidth": 0}
        label = f"{NAMES[name]}: line ± 2 standard deviations"
        axes.fill_between(grid, line - spread, line + spread, label=label, **band)
        axes.plot(grid, line, color=colour, linewidth=1.2)
    weights = true_weights(table)
    if np.isfinite(weights).all():
        axes.plot(grid, design @ weights, color="black", linestyle=":", label="true line")
    axes.plot(points["input"], points["target"], "o", color="black", markersize=3.5, label="data")
    axes.set(xlabel="x", ylabel="y", xlim=(grid[0], grid[-1]))


def line_table(folder: RunFolder) -> TableBlock:
    """Return the table of posterior means and standard deviations of both weights."""
    names, posterior = read_record(folder).metadata, read_posterior(folder)
    precisions = " and ".join(
        f"{name} precision {names[f'{name}_precision']}" for name in ("noise", "prior")
    )
    rows = []
    truth = true_weights(posterior)
    if np.isfinite(truth).all():
        rows.append(("true weights", *(f"{value:.4g}" for value in truth), "", ""))
    for name in ("learned", "mean field", "exact"):
        own = posterior[posterior["posterior"] == name]
        cells, shared = map(with_std, own["mean"], own["std"]), own.iloc[0]
        rows.append((NAMES[name], *cells, f"{shared['correlation']:.2f}", f"{shared['kl']:.4f}"))
    return TableBlock(
        (*label_columns("posterior"), *number_columns("w0", "w1", "correlation", "KL")),
        tuple(rows),
        title=short_name(names),
        caption=f"posterior mean and standard deviation (sd), units of the data; known "
        f"{precisions}; KL(row || exact) in nats",
    )


def line_notes(folder: RunFolder) -> list[str]:
    """Return the notes below the table."""
    kl = read_posterior(folder).groupby("posterior")["kl"].first()
    notes = [
        "The mean-field optimum is the diagonal Gaussian closest to the exact posterior in KL; no "
        "diagonal method can have a smaller KL."
    ]
    if kl["learned"] > kl["mean field"] + KL_TOLERANCE:
        notes.append(
            f"The learned posterior is {kl['learned'] - kl['mean field']:.2g} nats above it: not "
            "converged, a divergence other than KL, or a method with another optimum, such as one "
            "that replaces the curvature by squared gradients."
        )
    return notes


CAPTIONS = {
    "posterior": "Left: posteriors of the weights, as ellipses of 1 and 2 standard deviations and "
    "marginal densities along the sides; dots: posterior means, star: true weights. Right: data, "
    "mean line of each posterior with a band of ± 2 standard deviations, without noise, and the "
    "true line (dotted)"
}

PAGES = (RunPage(KIND, line_table, line_notes, figures=line_drawings, captions=CAPTIONS),)
