"""Parts of figures of iterations from several starts."""

from __future__ import annotations

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
