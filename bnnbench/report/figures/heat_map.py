"""Which run is better than which, and how surely."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from bnnbench.report.figures.canvas import SMALL, folded, headline, inches, sketch, square

MOST_COLUMNS = 4
"""Panels side by side."""


def heat_map(pairs: pd.DataFrame, title: str = "", order: Sequence[str] = ()) -> Figure:
    """P(row better than column) beyond the ROPE, one panel per data set.

    Names stand at the left and below the lowest panel of a column, and are the same in all.

    Args:
        pairs: of `significance.named`, of one metric.
        title: what the figure is of.
        order: of the names; alphabetical if not given.
    """
    groups = list(pairs.groupby("dataset", sort=False))
    there = {*pairs["a"], *pairs["b"]}
    names = [name for name in order if name in there] or sorted(there)
    columns = min(MOST_COLUMNS, len(groups))
    rows, side = -(-len(groups) // columns), max(1.6, 0.42 * len(names) + 0.3)
    longest = max(inches(name, SMALL) for name in names)
    size = ((side + 0.25) * columns + longest + 1.5, (side + 0.35) * rows + longest + 0.6)
    figure, panels = sketch(*size, columns, rows)
    for place, (axes, (dataset, group)) in enumerate(zip(panels, groups, strict=False)):
        below, left = place + columns >= len(groups), place % columns == 0
        image = _panel(axes, _chances(group, names), below, left)
        axes.set_title(folded(str(dataset), side - 0.2), fontsize="medium", parse_math=False)
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    figure.colorbar(image, ax=panels, label="P(row better than column)", shrink=0.8, panchor=False)
    headline(figure, title)
    return figure


def _chances(pairs: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The probability that the row is better than the column; missing where they did not meet."""
    table = pd.DataFrame(np.nan, index=names, columns=names)
    for row in pairs.to_dict("records"):
        table.loc[row["a"], row["b"]] = row["p_better"]
        table.loc[row["b"], row["a"]] = row["p_worse"]
    return table


def _panel(axes: Axes, chances: pd.DataFrame, below: bool, left: bool) -> AxesImage:
    image = axes.imshow(chances, vmin=0, vmax=1, cmap="cividis")
    square(axes)
    places, names = range(len(chances)), list(chances.index)
    axes.set_xticks(places, names if below else [""] * len(names), rotation=90, fontsize="small")
    axes.set_yticks(places, names if left else [""] * len(names), fontsize="small")
    for i, j in np.argwhere(chances.notna().to_numpy()):
        value = float(chances.to_numpy()[i, j])
        colour = "black" if value > 0.6 else "white"
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)
    return image
