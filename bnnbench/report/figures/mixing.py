"""Convergence diagnostics of MCMC chains over test points."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, legend, new_figure
from bnnbench.results.score.chain_convergence import MAX_R_HAT

ESS_COLUMNS = {"bulk_ess": ("bulk ESS", BLUE), "tail_ess": ("tail ESS", ORANGE)}


def has_mixing_data(diagnosis: pd.DataFrame) -> bool:
    """Whether R-hat and both effective sample sizes have finite values."""
    columns = ["r_hat", *ESS_COLUMNS]
    return {*columns} <= {*diagnosis} and bool(np.isfinite(diagnosis[columns]).any().all())


def mixing_figure(diagnosis: pd.DataFrame, name: str = "") -> Figure:
    """Draw the distributions of R-hat and of effective sample sizes over test points.

    `diagnosis` has a row per test point with `split`, `r_hat`, `bulk_ess` and `tail_ess`.
    """
    figure, (left, right) = new_figure(9.0, 4.2, 2)
    for number, (_, own) in enumerate(diagnosis.groupby("split")):
        label = "" if number else "one split"
        _shares(left, own["r_hat"], GREY, label, width=0.5)
    _shares(left, diagnosis["r_hat"], BLUE, "all splits", width=2)
    left.axvline(MAX_R_HAT, color=ORANGE, linewidth=1, label=f"convergence limit {MAX_R_HAT}")
    left.axhline(0.99, color=ORANGE, linewidth=1, linestyle=":", label="99 % of test points")
    left.set(xlabel="R-hat at most", ylabel="fraction of test points", ylim=(0, 1.01))
    for column, (label, colour) in ESS_COLUMNS.items():
        _shares(right, diagnosis[column], colour, label, 2, falling=True)
    right.set(xlabel="effective sample size at least", xscale="log", ylim=(0, 1.01))
    legend(figure, [left, right], columns=6, title=name)
    return figure


def _shares(
    axes: Axes, values: pd.Series, colour: str, label: str, width: float, falling: bool = False
) -> None:
    """Draw the fraction of finite values below each value, or above it if `falling`."""
    x = np.sort(values[np.isfinite(values)].to_numpy())
    share = np.arange(1, len(x) + 1) / max(1, len(x))
    y = 1 + share[0] - share if falling and len(x) else share
    axes.step(x, y, where="post", color=colour, linewidth=width, label=label)
