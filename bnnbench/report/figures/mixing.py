"""How well the chains of a run have mixed, test point by test point."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, legend, sketch
from bnnbench.results.mixing import MOST

SIZES = {"bulk_ess": ("bulk", BLUE), "tail_ess": ("tails", ORANGE)}


def mixing_is_told(diagnosis: pd.DataFrame) -> bool:
    """Whether there is a finite R-hat, and the two effective sizes beside it."""
    columns = ["r_hat", *SIZES]
    return {*columns} <= {*diagnosis} and bool(np.isfinite(diagnosis[columns]).any().all())


def mixing_figure(diagnosis: pd.DataFrame, name: str = "") -> Figure:
    """Shares of the test points: with at most such an R-hat, and with at least so many draws.

    Args:
        diagnosis: columns `split`, `r_hat`, `bulk_ess` and `tail_ess`, a row per test point.
        name: of the run.
    """
    figure, (left, right) = sketch(9.0, 4.2, 2)
    for number, (_, own) in enumerate(diagnosis.groupby("split")):
        label = "" if number else "one split"
        _shares(left, own["r_hat"], GREY, label, width=0.5)
    _shares(left, diagnosis["r_hat"], BLUE, "all splits", width=2)
    left.axvline(MOST, color=ORANGE, linewidth=1, label=f"{MOST}, for chains that agree")
    left.axhline(0.95, color=ORANGE, linewidth=1, linestyle=":", label="95 % of the points")
    left.set(xlabel="R-hat at most", ylabel="share of the test points", ylim=(0, 1.01))
    for column, (words, colour) in SIZES.items():
        _shares(right, diagnosis[column], colour, f"effective draws, {words}", 2, falling=True)
    right.set(xlabel="effective draws at least", xscale="log", ylim=(0, 1.01))
    legend(figure, [left, right], columns=6, title=name)
    return figure


def _shares(
    axes: Axes, values: pd.Series, colour: str, label: str, width: float, falling: bool = False
) -> None:
    """The share of finite values up to each of them, or from each of them on."""
    x = np.sort(values[np.isfinite(values)].to_numpy())
    share = np.arange(1, len(x) + 1) / max(1, len(x))
    y = 1 + share[0] - share if falling and len(x) else share
    axes.step(x, y, where="post", color=colour, linewidth=width, label=label)
