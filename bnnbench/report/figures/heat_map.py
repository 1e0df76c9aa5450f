"""Heat maps of pairwise comparisons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from bnnbench.report.figures.plotting import (
    SMALL_POINTS,
    add_title,
    new_figure,
    set_equal_axes,
    text_width,
    wrap_text,
)

MAX_COLUMNS = 4
"""Panels in a row."""


def heat_map(pairs: pd.DataFrame, title: str = "", order: Sequence[str] = ()) -> Figure:
    """Draw P(row better than column), beyond the ROPE, with one panel per data set.

    All panels have the same names, which are printed only at the left and at the bottom.

    Args:
        pairs: from `significance.add_names`, for one metric.
        title: title of the figure.
        order: the order of names; alphabetical by default.
    """
    groups = list(pairs.groupby("dataset", sort=False))
    there = {*pairs["a"], *pairs["b"]}
    names = [name for name in order if name in there] or sorted(there)
    columns = min(MAX_COLUMNS, len(groups))
    rows, side = -(-len(groups) // columns), max(1.6, 0.42 * len(names) + 0.3)
    longest = max(text_width(name, SMALL_POINTS) for name in names)
    size = ((side + 0.25) * columns + longest + 1.5, (side + 0.35) * rows + longest + 0.6)
    figure, panels = new_figure(*size, columns, rows)
    for place, (axes, (dataset, group)) in enumerate(zip(panels, groups, strict=False)):
        below, left = place + columns >= len(groups), place % columns == 0
        image = _panel(axes, _probabilities(group, names), below, left)
        axes.set_title(wrap_text(str(dataset), side - 0.2), fontsize="medium", parse_math=False)
    for axes in panels[len(groups) :]:
        axes.set_axis_off()
    figure.colorbar(image, ax=panels, label="P(row better than column)", shrink=0.8, panchor=False)
    add_title(figure, title)
    return figure


def _probabilities(pairs: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The probability that the row is better than the column; NaN for pairs not compared."""
    table = pd.DataFrame(np.nan, index=names, columns=names)
    for row in pairs.to_dict("records"):
        table.loc[row["a"], row["b"]] = row["p_better"]
        table.loc[row["b"], row["a"]] = row["p_worse"]
    return table


def _panel(axes: Axes, probabilities: pd.DataFrame, below: bool, left: bool) -> AxesImage:
    image = axes.imshow(probabilities, vmin=0, vmax=1, cmap="cividis")
    set_equal_axes(axes)
    places, names = range(len(probabilities)), list(probabilities.index)
    axes.set_xticks(places, names if below else [""] * len(names), rotation=90, fontsize="small")
    axes.set_yticks(places, names if left else [""] * len(names), fontsize="small")
    for i, j in np.argwhere(probabilities.notna().to_numpy()):
        value = float(probabilities.to_numpy()[i, j])
        colour = "black" if value > 0.6 else "white"
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=7)
    return image
