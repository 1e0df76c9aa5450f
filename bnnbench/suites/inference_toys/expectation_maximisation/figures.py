"""Figures of a run of EM."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.suites.inference_toys.expectation_maximisation import names
from bnnbench.suites.inference_toys.expectation_maximisation.model import Parameters, log_joint
from bnnbench.suites.inference_toys.saved_tables import read_table

ITERATIONS_SHOWN = (0, 1, 2, 5, 20)
"""Iterations whose densities are drawn; replaced by the last one in shorter runs."""

UNITS = {names.SYNTHETIC: "y", names.PETAL_LENGTHS: "petal length [cm]"}

COMPONENTS = (ORANGE, PALETTE[2])


def read_trace(folder: RunFolder, part: str) -> pd.DataFrame:
    """Read the rows of `trace.csv` for one part."""
    trace = read_table(folder, names.TRACE, ("start", "iteration", "log_likelihood", "bound"))
    return trace[trace["part"] == part]


def densities_figure(folder: RunFolder) -> Figure:
    """Plot data and both components during EM, from the start of median length."""
    points = read_table(folder, names.POINTS, ("point",))
    columns = len(ITERATIONS_SHOWN)
    figure, panels = new_figure(2.6 * columns, 5.2, columns, 2)
    for row, part in enumerate((names.SYNTHETIC, names.PETAL_LENGTHS)):
        data = points.loc[points["part"] == part, "point"].to_numpy()
        trace = read_trace(folder, part)
        lengths = trace.groupby("start")["iteration"].max().sort_values(kind="stable")
        median = trace[trace["start"] == lengths.index[len(lengths) // 2]].set_index("iteration")
        iterations = [min(t, len(median) - 1) for t in ITERATIONS_SHOWN]
        row_panels = panels[row * columns : (row + 1) * columns]
        top = 0.0
        for axes, iteration in zip(row_panels, iterations, strict=True):
            top = max(top, _densities(axes, data, median.loc[iteration]))
            name = "start" if iteration == 0 else f"iteration {iteration}"
            axes.set_title(name, fontsize="small")
            axes.set_xlabel(UNITS[part])
        for axes in row_panels:
            axes.set_ylim(0, 1.05 * top)
        row_panels[0].set_ylabel(f"{names.SETTINGS[part]}: density")
    legend(figure, panels[0])
    return figure


def _densities(axes: Axes, data: np.ndarray, row: pd.Series) -> float:
    """Draw data and mixture, and return the largest density of both."""
    margin = 0.1 * np.ptp(data)
    grid = np.linspace(data.min() - margin, data.max() + margin, 400)
    pairs = (row[[f"{name}_1", f"{name}_2"]] for name in ("weight", "loc", "variance"))
    parameters = Parameters(*(pair.to_numpy(dtype=float) for pair in pairs)).sorted_by_mean()
    components = np.exp(log_joint(grid, parameters))
    counts, _, _ = axes.hist(data, bins=25, density=True, color="#D9D9D9", label="data")
    total = components.sum(1)
    axes.plot(grid, total, color=BLUE, linewidth=2.4, label="mixture")
    for k, name in enumerate(("lower component", "upper component")):
        axes.plot(grid, components[:, k], color=COMPONENTS[k], linewidth=1.3, label=name)
    axes.set_xlim(grid[0], grid[-1])
    return float(max(np.max(counts), total.max()))


def bound_figure(folder: RunFolder) -> Figure:
    """Plot the bounds of three E-steps, each tight at the current iterate."""
    numbers = (
        "iteration",
        "current_mean",
        "current_log_likelihood",
        "mean",
        "log_likelihood",
        "bound",
    )
    table = read_table(folder, names.BOUNDS, numbers)
    figure, (axes,) = new_figure(6.8, 4.4)
    curve = table[table["iteration"] == table["iteration"].min()]
    label = "log-likelihood"
    axes.plot(curve["mean"], curve["log_likelihood"], color="black", linewidth=1.8, label=label)
    for iteration, rows in table.groupby("iteration"):
        colour = PALETTE[(0, 5, 2)[int(str(iteration)) % 3]]
        label = f"bound after E-step {int(str(iteration)) + 1}"
        axes.plot(rows["mean"], rows["bound"], "--", color=colour, label=label)
        current = rows[["current_mean", "current_log_likelihood"]].iloc[0]
        axes.plot(*current, "o", color=colour, markersize=6)
        best = rows.loc[rows["bound"].idxmax(), ["mean", "bound"]].astype(float)
        axes.plot(*best, "^", color=colour, markersize=6)
    low, high = table["current_log_likelihood"].min(), table["log_likelihood"].max()
    axes.set_ylim(low - 0.1 * (high - low), high + 0.06 * (high - low))
    axes.plot([], [], "o", color=GREY, label="point of contact (E-step)")
    axes.plot([], [], "^", color=GREY, label="maximum of the bound (M-step)")
    axes.set_xlabel("mean of the lower component, other parameters fixed")
    axes.set_ylabel("log-likelihood and its bounds [nats]")
    legend(figure, axes, columns=2)
    return figure


def likelihood_figure(folder: RunFolder) -> Figure:
    """Plot the log-likelihood against the iteration, and where it is unbounded."""
    figure, panels = new_figure(11.5, 3.7, 3)
    best = {}
    for axes, part in zip(panels, (names.SYNTHETIC, names.PETAL_LENGTHS), strict=False):
        trace = read_trace(folder, part)
        for start, rows in trace.groupby("start"):
            colour = PALETTE[int(str(start)) % len(PALETTE)]
            axes.plot(rows["iteration"], rows["log_likelihood"], color=colour, linewidth=1)
            end = rows[["iteration", "log_likelihood"]].to_numpy()[-1]
            axes.plot(*end, "o", color=colour, markersize=4)
        ends = trace.groupby("start")["log_likelihood"].last()
        best[part] = ends.max()
        starts = trace.loc[trace["iteration"] == 0, "log_likelihood"]
        axes.set(xlabel="iteration", ylabel="log-likelihood [nats]")
        axes.set_ylim(starts.min(), best[part] + 0.05 * (best[part] - starts.min()))
        axes.set_title(f"{names.SETTINGS[part]}: {len(ends)} starts", fontsize="small")
    profile = read_table(folder, names.PROFILE, ("variance", "log_likelihood"))
    axes = panels[2]
    axes.plot(profile["variance"], profile["log_likelihood"], color=BLUE)
    line = axes.axhline(best[names.SYNTHETIC], color="black", linewidth=1, linestyle="--")
    axes.legend([line], ["result of EM"], loc="lower right", frameon=False, fontsize="small")
    axes.set(xscale="log", ylabel="log-likelihood [nats]")
    axes.set_xlabel("variance of the component on one point")
    axes.invert_xaxis()
    axes.set_title("synthetic data: no maximum", fontsize="small")
    return figure
