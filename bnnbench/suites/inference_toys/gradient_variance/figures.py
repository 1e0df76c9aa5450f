"""The figures of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, PALETTE, legend, sketch
from bnnbench.suites.inference_toys.gradient_variance.findings import read_findings
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    CONTROLLED,
    ESTIMATORS,
    OPTIMUM,
    PARAMETERS,
    PATH_DERIVATIVE,
    PATHWISE,
    QUADRATIC,
    RAO_BLACKWELL,
    SCORE,
    START,
    WAVE,
)

COLOURS = {
    SCORE: ORANGE,
    CONTROLLED: PALETTE[1],
    PATHWISE: BLUE,
    PATH_DERIVATIVE: PALETTE[4],
    RAO_BLACKWELL: PALETTE[3],
}

WIDTH = 0.2
"""Of a bar, where four stand side by side."""


def variances_figure(folder: RunFolder) -> Figure:
    """Bars of the measured variances, with the exact ones as lines across them."""
    rows = read_findings(folder).variances
    groups = {
        f"{QUADRATIC}, 1 sample": (rows[rows["objective"] == QUADRATIC], "scale"),
        f"{WAVE}, 1 sample": (rows[rows["objective"] == WAVE], "scale"),
        START: (rows[rows["objective"] == START], "samples"),
        OPTIMUM: (rows[rows["objective"] == OPTIMUM], "samples"),
    }
    figure, panels = sketch(11.0, 5.6, len(groups), len(PARAMETERS))
    for i, parameter in enumerate(PARAMETERS):
        for j, (title, (own, over)) in enumerate(groups.items()):
            axes = panels[i * len(groups) + j]
            _draw_bars(axes, own[own["parameter"] == parameter], over)
            axes.set_title(title if i == 0 else "", fontsize="medium")
            if i == len(PARAMETERS) - 1:
                axes.set_xlabel("deviation of q" if over == "scale" else "samples")
            axes.set_ylabel(f"variance of the gradient\nby the {parameter}" if j == 0 else "")
    legend(figure, panels[2], columns=5)
    return figure


def convergence_figure(folder: RunFolder) -> Figure:
    """Distance to the posterior against draws, and variance against the number of unknowns."""
    found = read_findings(folder)
    figure, (left, right) = sketch(9.6, 4.0, 2)
    for name in ESTIMATORS:
        own = found.convergence[found.convergence["estimator"] == name]
        left.plot(own["samples"], own["median"], color=COLOURS[name], linewidth=1.5, label=name)
        left.fill_between(
            own["samples"], own["low"], own["high"], color=COLOURS[name], alpha=0.2, linewidth=0
        )
    left.set_yscale("log")
    left.set_ylim(1e-7, None)
    left.set(xlabel="samples of z spent", ylabel="KL(q || posterior) [nats]")
    left.set_title("ascent of the ELBO: median, and 10% to 90%", fontsize="medium")
    for name, own in found.latents.groupby("estimator", sort=False):
        colour = COLOURS[str(name)]
        right.plot(own["latents"], own["exact"], color=colour, linewidth=1, label="_exact")
        right.plot(own["latents"], own["variance"], "o", color=colour, label=str(name))
    right.set(xscale="log", yscale="log", xlabel="independent unknowns")
    right.set_ylabel("variance of the gradient by one mean")
    right.set_title("terms of other unknowns: dots measured, lines exact", fontsize="medium")
    right.legend(frameon=False, fontsize="small")
    legend(figure, left)
    return figure


def _draw_bars(axes: Axes, rows: pd.DataFrame, over: str) -> None:
    """A group of bars per value of a column, a bar per estimator."""
    values = sorted(rows[over].unique())
    names = [name for name in ESTIMATORS if name in set(rows["estimator"])]
    for k, name in enumerate(names):
        own = rows[rows["estimator"] == name].set_index(over).loc[values]
        places = np.arange(len(values)) + (k - (len(names) - 1) / 2) * WIDTH
        heights = own["variance"].where(own["variance"] > 0)
        axes.bar(places, heights, WIDTH * 0.9, color=COLOURS[name], label=name)
        exact, label = own["exact"].where(own["exact"] > 0), "exact" if k == 0 else "_exact"
        ends = places - WIDTH / 2, places + WIDTH / 2
        axes.hlines(exact, *ends, "black", linewidth=1, label=label)
        for place in places[heights.isna()]:
            axes.text(
                place, 0.02, "0", transform=axes.get_xaxis_transform(), ha="center", color=GREY
            )
    axes.set_yscale("log")
    axes.set_ylim(rows.loc[rows["variance"] > 0, "variance"].min() / 3, None)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xticks(range(len(values)), [f"{value:.3g}" for value in values])
