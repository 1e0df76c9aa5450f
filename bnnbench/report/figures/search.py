"""How a hyper-parameter search went."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, Look, legend, sketch


def best_so_far(search: pd.DataFrame) -> pd.DataFrame:
    """The best objective after each evaluation: one row per evaluation, one column per split."""
    order = search.sort_values(["split", "iteration"])
    number = order.groupby("split").cumcount() + 1
    # A diverged evaluation has no objective: it never is the best.
    objective = order["objective"].where(np.isfinite(order["objective"]), -np.inf)
    best = objective.groupby(order["split"]).cummax().replace(-np.inf, np.nan)
    return order.assign(number=number, best=best).pivot(
        index="number", columns="split", values="best"
    )


def search_figure(search: pd.DataFrame, initial: int) -> Figure:
    """How the hyper-parameter search went.

    Left, the best objective (mean validation log-likelihood) after each evaluation: the median
    over splits, its quartile band and each split; the random phase is shaded. Right, where both
    were searched, the noise and prior precisions tried, the chosen ones ringed.

    Args:
        search: rows of `search.csv`.
        initial: evaluations placed at random before the search learns.
    """
    pair = ["hp.noise_precision", "hp.prior_precision"]
    finite = search[np.isfinite(search["objective"])]
    both = len(finite) > 0 and set(pair) <= set(search)
    figure, panels = sketch(11 if both else 6.4, 4.8, 2 if both else 1)
    axes, best = panels[0], best_so_far(search)
    low, middle, high = (best.quantile(q, axis=1) for q in (0.25, 0.5, 0.75))
    axes.axvspan(0.5, initial + 0.5, color="#EEEEEE", zorder=0, label="random phase")
    for number, split in enumerate(best):
        name = "" if number else "one split"
        axes.plot(best.index, best[split], color=GREY, linewidth=0.5, alpha=0.6, label=name)
    axes.fill_between(best.index, low, high, color=BLUE, alpha=0.25, label="quartiles over splits")
    axes.plot(best.index, middle, color=BLUE, linewidth=2, label="median over splits")
    if low.notna().any():
        # The first, random points of some splits are so bad that they would flatten the rest.
        floor, top = low.min(), best.max(axis=None)
        margin = 0.06 * (top - floor) or 0.1
        axes.set_ylim(floor - margin, top + margin)
    axes.set_xlim(0.5, len(best) + 0.5)
    axes.set(xlabel="evaluation", ylabel="best mean validation log-likelihood so far [nats]")
    legend(figure, axes)
    if both:
        _tried(figure, panels[1], finite)
    return figure


def _tried(figure: Figure, axes: Axes, search: pd.DataFrame) -> None:
    shown = search.sort_values("objective")
    x, y = shown["hp.noise_precision"], shown["hp.prior_precision"]
    low = shown["objective"].quantile(0.1)
    colours = axes.scatter(x, y, c=shown["objective"], cmap="viridis", vmin=low, s=16)
    best = shown.loc[shown.groupby("split")["objective"].idxmax()]
    ring: Look = {"facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.6, "s": 70}
    axes.scatter(best["hp.noise_precision"], best["hp.prior_precision"], **ring)
    axes.set(xscale="log", yscale="log", ylabel="prior precision (standardised units)")
    axes.set_xlabel("noise precision (standardised units)")
    axes.set_title("tried by all splits; chosen ones ringed", fontsize="medium")
    figure.colorbar(colours, ax=axes, extend="min", label="mean validation log-likelihood [nats]")
