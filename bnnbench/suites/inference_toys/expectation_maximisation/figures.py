"""The figures of a run of EM, each drawn from the run's own tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, PALETTE, legend, sketch
from bnnbench.suites.inference_toys.expectation_maximisation import tables
from bnnbench.suites.inference_toys.expectation_maximisation.model import Parameters, log_joint
from bnnbench.suites.inference_toys.reading import read_table

SHOWN = (0, 1, 2, 5, 20)
"""Iterations whose densities are drawn; the last where there are no so many."""

UNITS = {tables.MADE: "y", tables.PETALS: "petal length [cm]"}

COMPONENTS = (ORANGE, PALETTE[2])


def read_trace(folder: RunFolder, part: str) -> pd.DataFrame:
    """Rows of `trace.csv` of one part."""
    trace = read_table(folder, tables.TRACE, ("start", "iteration", "log_likelihood", "bound"))
    return trace[trace["part"] == part]


def densities_figure(folder: RunFolder) -> Figure:
    """Data and both components as EM goes on, from the start that took a median time."""
    points = read_table(folder, tables.POINTS, ("point",))
    columns = len(SHOWN)
    figure, panels = sketch(2.6 * columns, 5.2, columns, 2)
    for row, part in enumerate((tables.MADE, tables.PETALS)):
        data = points.loc[points["part"] == part, "point"].to_numpy()
        trace = read_trace(folder, part)
        took = trace.groupby("start")["iteration"].max().sort_values(kind="stable")
        path = trace[trace["start"] == took.index[len(took) // 2]].set_index("iteration")
        shown = [min(t, len(path) - 1) for t in SHOWN]
        own = panels[row * columns : (row + 1) * columns]
        top = 0.0
        for axes, iteration in zip(own, shown, strict=True):
            top = max(top, _densities(axes, data, path.loc[iteration]))
            name = "start" if iteration == 0 else f"iteration {iteration}"
            axes.set_title(name, fontsize="small")
            axes.set_xlabel(UNITS[part])
        for axes in own:
            axes.set_ylim(0, 1.05 * top)
        own[0].set_ylabel(f"{tables.SETTINGS[part]}: density")
    legend(figure, panels[0])
    return figure


def _densities(axes: Axes, data: np.ndarray, row: pd.Series) -> float:
    """Draws data and mixture; the height of the highest of both."""
    margin = 0.1 * np.ptp(data)
    grid = np.linspace(data.min() - margin, data.max() + margin, 400)
    pairs = (row[[f"{name}_1", f"{name}_2"]] for name in ("weight", "loc", "variance"))
    parameters = Parameters(*(pair.to_numpy(dtype=float) for pair in pairs)).in_order()
    components = np.exp(log_joint(grid, parameters))
    counts, _, _ = axes.hist(data, bins=25, density=True, color="#D9D9D9", label="data")
    total = components.sum(1)
    axes.plot(grid, total, color=BLUE, linewidth=2.4, label="mixture")
    for k, name in enumerate(("lower component", "upper component")):
        axes.plot(grid, components[:, k], color=COMPONENTS[k], linewidth=1.3, label=name)
    axes.set_xlim(grid[0], grid[-1])
    return float(max(np.max(counts), total.max()))


def bound_figure(folder: RunFolder) -> Figure:
    """The bound of three E-steps, each touching the log-likelihood where EM stood."""
    numbers = ("iteration", "touches_at", "touched", "mean", "log_likelihood", "bound")
    table = read_table(folder, tables.TOUCH, numbers)
    figure, (axes,) = sketch(6.8, 4.4)
    curve = table[table["iteration"] == table["iteration"].min()]
    label = "log-likelihood"
    axes.plot(curve["mean"], curve["log_likelihood"], color="black", linewidth=1.8, label=label)
    for iteration, own in table.groupby("iteration"):
        colour = PALETTE[(0, 5, 2)[int(str(iteration)) % 3]]
        label = f"bound after E-step {int(str(iteration)) + 1}"
        axes.plot(own["mean"], own["bound"], "--", color=colour, label=label)
        touch = own[["touches_at", "touched"]].iloc[0]
        axes.plot(*touch, "o", color=colour, markersize=6)
        best = own.loc[own["bound"].idxmax(), ["mean", "bound"]].astype(float)
        axes.plot(*best, "^", color=colour, markersize=6)
    low, high = table["touched"].min(), table["log_likelihood"].max()
    axes.set_ylim(low - 0.1 * (high - low), high + 0.06 * (high - low))
    axes.plot([], [], "o", color=GREY, label="touches: E-step")
    axes.plot([], [], "^", color=GREY, label="top of the bound: M-step")
    axes.set_xlabel("mean of the lower component, all else held")
    axes.set_ylabel("log-likelihood and its bounds [nats]")
    legend(figure, axes, columns=2)
    return figure


def likelihood_figure(folder: RunFolder) -> Figure:
    """Log-likelihood against iteration, and where it has no maximum."""
    figure, panels = sketch(11.5, 3.7, 3)
    best = {}
    for axes, part in zip(panels, (tables.MADE, tables.PETALS), strict=False):
        trace = read_trace(folder, part)
        for start, path in trace.groupby("start"):
            colour = PALETTE[int(str(start)) % len(PALETTE)]
            axes.plot(path["iteration"], path["log_likelihood"], color=colour, linewidth=1)
            end = path[["iteration", "log_likelihood"]].to_numpy()[-1]
            axes.plot(*end, "o", color=colour, markersize=4)
        ends = trace.groupby("start")["log_likelihood"].last()
        best[part] = ends.max()
        starts = trace.loc[trace["iteration"] == 0, "log_likelihood"]
        axes.set(xlabel="iteration", ylabel="log-likelihood [nats]")
        axes.set_ylim(starts.min(), best[part] + 0.05 * (best[part] - starts.min()))
        axes.set_title(f"{tables.SETTINGS[part]}: {len(ends)} starts", fontsize="small")
    profile = read_table(folder, tables.PROFILE, ("variance", "log_likelihood"))
    axes = panels[2]
    axes.plot(profile["variance"], profile["log_likelihood"], color=BLUE)
    line = axes.axhline(best[tables.MADE], color="black", linewidth=1, linestyle="--")
    axes.legend([line], ["where EM ends"], loc="lower right", frameon=False, fontsize="small")
    axes.set(
        xscale="log", xlabel="variance of a component on one point", ylabel="log-likelihood [nats]"
    )
    axes.invert_xaxis()
    axes.set_title("made data: no maximum", fontsize="small")
    return figure
