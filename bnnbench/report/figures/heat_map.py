"""Which run is better than which, and how surely."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from bnnbench.report.figures.canvas import sketch

MOST_COLUMNS = 4
"""Panels side by side."""


def heat_map(pairs: pd.DataFrame) -> Figure:
    """P(row better than column) beyond the ROPE, one panel per data set.

    Args:
        pairs: of `significance.named`, of one metric.
    """
    groups = list(pairs.groupby("dataset"))
    names = sorted({*pairs["a"], *pairs["b"]})
    columns = min(MOST_COLUMNS, len(groups))
    rows, side = -(-len(groups) // columns), 1.4 + 0.55 * len(names)
    figure, panels = sketch(side * columns + 0.8, side * rows + 0.4, columns, rows)
    for axes, (dataset, group) in zip(panels, groups, strict=False):
        image = _panel(axes, _chances(group, names))
        axes.set_title(str(dataset), fontsize="medium")
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    figure.colorbar(image, ax=panels, label="P(row better than column)", shrink=0.8)
    return figure


def _chances(pairs: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The probability that the row is better than the column; missing where they did not meet."""
    table = pd.DataFrame(np.nan, index=names, columns=names)
    for row in pairs.to_dict("records"):
        table.loc[row["a"], row["b"]] = row["p_better"]
        table.loc[row["b"], row["a"]] = row["p_worse"]
    return table


def _panel(axes: Axes, chances: pd.DataFrame) -> AxesImage:
    image = axes.imshow(chances, vmin=0, vmax=1, cmap="cividis")
    places, names = range(len(chances)), list(chances.index)
    axes.set_xticks(places, names, rotation=60, ha="right", fontsize="small")
    axes.set_yticks(places, names, fontsize="small")
    for i, j in np.argwhere(chances.notna().to_numpy()):
        value = float(chances.to_numpy()[i, j])
        colour = "black" if value > 0.6 else "white"
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)
    return image
