"""The figures of a run on gradient variances."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.suites.inference_toys.gradient_variance.names import (
    CONTROL_VARIATE,
    COSINE,
    ESTIMATORS,
    OPTIMUM,
    PARAMETERS,
    PATH_DERIVATIVE,
    PATHWISE,
    QUADRATIC,
    RAO_BLACKWELL,
    SCORE,
    START,
)
from bnnbench.suites.inference_toys.gradient_variance.saved_run import read_run

COLOURS = {
    SCORE: ORANGE,
    CONTROL_VARIATE: PALETTE[1],
    PATHWISE: BLUE,
    PATH_DERIVATIVE: PALETTE[4],
    RAO_BLACKWELL: PALETTE[3],
}

BAR_WIDTH = 0.2
"""Width of a bar in a group of up to four."""


def variances_figure(folder: RunFolder) -> Figure:
    """Plot measured variances as bars, with exact values as lines."""
    rows = read_run(folder).variances
    groups = {
        f"{QUADRATIC}, 1 sample": (rows[rows["objective"] == QUADRATIC], "scale"),
        f"{COSINE}, 1 sample": (rows[rows["objective"] == COSINE], "scale"),
        START: (rows[rows["objective"] == START], "samples"),
        OPTIMUM: (rows[rows["objective"] == OPTIMUM], "samples"),
    }
    figure, panels = new_figure(11.0, 5.6, len(groups), len(PARAMETERS))
    for i, parameter in enumerate(PARAMETERS):
        for j, (title, (group, column)) in enumerate(groups.items()):
            axes = panels[i * len(groups) + j]
            _draw_bars(axes, group[group["parameter"] == parameter], column)
            axes.set_title(title if i == 0 else "", fontsize="medium")
            if i == len(PARAMETERS) - 1:
                axes.set_xlabel("standard deviation of q" if column == "scale" else "samples")
            axes.set_ylabel(f"variance of the gradient\nw.r.t. the {parameter}" if j == 0 else "")
    legend(figure, panels[2], columns=5)
    return figure


def convergence_figure(folder: RunFolder) -> Figure:
    """Plot KL to the posterior during ascent, and variance by number of latent variables."""
    run = read_run(folder)
    figure, (left, right) = new_figure(9.6, 4.0, 2)
    for name in ESTIMATORS:
        rows = run.convergence[run.convergence["estimator"] == name]
        left.plot(rows["samples"], rows["median"], color=COLOURS[name], linewidth=1.5, label=name)
        left.fill_between(
            rows["samples"], rows["low"], rows["high"], color=COLOURS[name], alpha=0.2, linewidth=0
        )
    left.set_yscale("log")
    left.set_ylim(1e-7, None)
    left.set(xlabel="samples of z", ylabel="KL(q || posterior) [nats]")
    left.set_title("ascent of the ELBO: median, 10 % to 90 %", fontsize="medium")
    for name, rows in run.latents.groupby("estimator", sort=False):
        colour = COLOURS[str(name)]
        right.plot(rows["latents"], rows["exact"], color=colour, linewidth=1, label="_exact")
        right.plot(rows["latents"], rows["variance"], "o", color=colour, label=str(name))
    right.set(xscale="log", yscale="log", xlabel="latent variables")
    right.set_ylabel("variance of the gradient w.r.t. one mean")
    right.set_title("Rao-Blackwellisation: measured (dots), exact (lines)", fontsize="medium")
    right.legend(frameon=False, fontsize="small")
    legend(figure, left)
    return figure


def _draw_bars(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """Draw a group of bars per value of a column, one bar per estimator."""
    values = sorted(rows[column].unique())
    names = [name for name in ESTIMATORS if name in set(rows["estimator"])]
    for k, name in enumerate(names):
        selected = rows[rows["estimator"] == name].set_index(column).loc[values]
        positions = np.arange(len(values)) + (k - (len(names) - 1) / 2) * BAR_WIDTH
        heights = selected["variance"].where(selected["variance"] > 0)
        axes.bar(positions, heights, BAR_WIDTH * 0.9, color=COLOURS[name], label=name)
        exact = selected["exact"].where(selected["exact"] > 0)
        label = "exact" if k == 0 else "_exact"
        limits = positions - BAR_WIDTH / 2, positions + BAR_WIDTH / 2
        axes.hlines(exact, *limits, "black", linewidth=1, label=label)
        for position in positions[heights.isna()]:
            axes.text(
                position, 0.02, "0", transform=axes.get_xaxis_transform(), ha="center", color=GREY
            )
    axes.set_yscale("log")
    axes.set_ylim(rows.loc[rows["variance"] > 0, "variance"].min() / 3, None)
    axes.set_xlim(-0.6, len(values) - 0.4)
    axes.set_xticks(range(len(values)), [f"{value:.3g}" for value in values])
