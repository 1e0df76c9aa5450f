"""Curves of several arms with bands, such as quartiles over repetitions."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.report.figures.plotting import PALETTE, legend, small_multiples


def bands_figure(panels: Mapping[str, pd.DataFrame], x: str, y: str, baseline: str) -> Figure:
    """Draw the curve of each arm, a panel per run.

    Args:
        panels: by title; rows with `arm`, the column `x`, and `centre`, `low` and `high`.
        x: name of the column and the horizontal axis.
        y: name of the vertical axis.
        baseline: the arm that is dashed.
    """
    arms = list(dict.fromkeys(arm for table in panels.values() for arm in table["arm"]))
    figure, places = small_multiples(len(panels), 3, (3.4, 2.4), (0.3, 0.7), 4.5)
    for axes, (title, table) in zip(places, panels.items(), strict=True):
        for arm, own in table.groupby("arm", sort=False):
            colour = PALETTE[arms.index(arm) % len(PALETTE)]
            style = "--" if arm == baseline else "-"
            axes.plot(own[x], own["centre"], style, color=colour, label=arm)
            axes.fill_between(own[x], own["low"], own["high"], color=colour, alpha=0.2, lw=0)
        axes.set_title(title, fontsize="small", parse_math=False)
        axes.set(xlabel=x, ylabel=y)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=bool((own[x] % 1 == 0).all())))
    legend(figure, places)
    return figure
