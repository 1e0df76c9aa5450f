"""Parts of figures of iterations from several starts."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bnnbench.report.figures.plotting import PALETTE


def plot_starts(axes: Axes, trace: pd.DataFrame, column: str) -> None:
    """Plot a column by iteration: a line per start, with a dot at the last iteration."""
    for start, rows in trace.groupby("start"):
        colour = PALETTE[int(str(start)) % len(PALETTE)]
        line = axes.plot(rows["iteration"], rows[column], color=colour, linewidth=1.2)
        line[0].set_label(f"start {start}")
        axes.plot(*rows[["iteration", column]].to_numpy()[-1], "o", color=colour, markersize=4)
    axes.set_xlabel("iteration")


def plot_histogram(axes: Axes, data: np.ndarray, bins: int, iteration: int) -> np.ndarray:
    """Plot the density of the data at an iteration, and return a grid for the model's density."""
    margin = 0.1 * np.ptp(data)
    grid = np.linspace(data.min() - margin, data.max() + margin, 400)
    axes.hist(data, bins=bins, density=True, color="#D9D9D9", label="data")
    axes.set_xlim(grid[0], grid[-1])
    axes.set_title("start" if iteration == 0 else f"iteration {iteration}", fontsize="small")
    return grid


def share_density_axis(panels: list[Axes]) -> None:
    """Give panels of densities the same vertical axis, which begins at 0."""
    top = max(axes.dataLim.ymax for axes in panels)
    for axes in panels:
        axes.set_ylim(0, 1.05 * top)
