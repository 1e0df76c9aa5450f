"""The figures and the page of a run on gradient variances."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.gradient_variance import estimators, tables
from bnnbench.suites.inference_toys.gradient_variance.claims import claims
from bnnbench.suites.inference_toys.gradient_variance.experiment import GradientVariance

COLOURS = {
    estimators.SCORE: ORANGE,
    estimators.CONTROL_VARIATE: PALETTE[1],
    estimators.PATHWISE: BLUE,
    estimators.PATH_DERIVATIVE: PALETTE[4],
    tables.RAO_BLACKWELL: PALETTE[3],
}

PANELS = {
    tables.QUADRATIC: (f"{tables.QUADRATIC}, 1 sample", "scale"),
    tables.COSINE: (f"{tables.COSINE}, 1 sample", "scale"),
    tables.START: (tables.START, "samples"),
    tables.OPTIMUM: (tables.OPTIMUM, "samples"),
}
"""Title and horizontal axis of the panels of each objective."""

SPACING = 0.2
"""Distance of neighbouring estimators in a group of up to four."""

figures = Figures(tables.read_run)


@figures(
    "Variance of each estimator of the gradient (dots, on a log scale) with respect to the mean "
    "(top) and log standard deviation (bottom) of q. Black lines: exact values where known; a "
    "grey 0 marks a variance of zero"
)
def variances(run: SavedTables) -> Figure:
    """Plot measured variances as dots, with exact values as lines."""
    figure, panels = new_figure(11.0, 5.6, len(PANELS), 2)
    for axes, (parameter, objective) in zip(
        panels, product(tables.PARAMETERS, PANELS), strict=True
    ):
        rows = run.rows(tables.VARIANCES, objective=objective, parameter=parameter)
        _draw_groups(axes, rows, PANELS[objective][1])
    upper, lower = panels[: len(PANELS)], panels[len(PANELS) :]
    for top, bottom, (title, column) in zip(upper, lower, PANELS.values(), strict=True):
        top.set_title(title, fontsize="medium")
        bottom.set_xlabel("standard deviation of q" if column == "scale" else "samples")
    for axes, parameter in zip((upper[0], lower[0]), tables.PARAMETERS, strict=True):
        axes.set_ylabel(f"variance of the gradient\nw.r.t. the {parameter}")
    legend(figure, panels[2], columns=5)
    return figure


def _draw_groups(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    """Draw a group of dots per value of a column, one dot per estimator."""
    values = sorted(rows[column].unique())
    names = [name for name in estimators.ESTIMATORS if name in set(rows["estimator"])]
    for k, name in enumerate(names):
        selected = rows[rows["estimator"] == name].set_index(column).loc[values]
        positions = np.arange(len(values)) + (k - (len(names) - 1) / 2) * SPACING
        heights = selected["variance"].where(selected["variance"] > 0)
        axes.plot(positions, heights, "o", color=COLOURS[name], label=name)
        exact = selected["exact"].where(selected["exact"] > 0)
        limits = positions - SPACING / 2, positions + SPACING / 2
        axes.hlines(exact, *limits, "black", linewidth=1, label="_exact" if k else "exact")
        for position in positions[heights.isna()]:
            axes.text(
                position, 0.02, "0", transform=axes.get_xaxis_transform(), ha="center", color=GREY
            )
    axes.set(yscale="log", xlim=(-0.6, len(values) - 0.4))
    axes.set_ylim(rows.loc[rows["variance"] > 0, "variance"].min() / 3, None)
    axes.set_xticks(range(len(values)), [f"{value:.3g}" for value in values])


@figures(
    "Left: divergence from the posterior during gradient ascent on the ELBO; lines and bands: "
    "median and 10 % to 90 % quantiles over repetitions. Right: variance of one gradient component "
    "by number of latent variables; dots: measured, lines: exact"
)
def convergence(run: SavedTables) -> Figure:
    """Plot KL to the posterior during ascent, and variance by number of latent variables."""
    figure, (left, right) = new_figure(9.6, 4.0, 2)
    for name, rows in run[tables.CONVERGENCE].groupby("estimator", sort=False):
        colour, samples = COLOURS[str(name)], rows["samples"]
        left.plot(samples, rows["median"], color=colour, linewidth=1.5, label=str(name))
        left.fill_between(samples, rows["low"], rows["high"], color=colour, alpha=0.2, linewidth=0)
    left.set(yscale="log", xlabel="samples of z", ylabel="KL(q || posterior) [nats]")
    left.set_ylim(1e-7, None)
    left.set_title("ascent of the ELBO: median, 10 % to 90 %", fontsize="medium")
    for name, rows in run[tables.LATENTS].groupby("estimator", sort=False):
        colour = COLOURS[str(name)]
        right.plot(rows["latents"], rows["exact"], color=colour, linewidth=1, label="_exact")
        right.plot(rows["latents"], rows["variance"], "o", color=colour, label=str(name))
    right.set(xscale="log", yscale="log", xlabel="latent variables")
    right.set_ylabel("variance of the gradient w.r.t. one mean")
    right.set_title("Rao-Blackwellisation: measured (dots), exact (lines)", fontsize="medium")
    right.legend(frameon=False, fontsize="small")
    legend(figure, left)
    return figure


EXPERIMENT_PAGE = ExperimentPage(
    kind=GradientVariance.kind,
    title="Variance of gradient estimators",
    caption="Gradients with respect to the mean and the log standard deviation of q = Normal(mean, "
    "std^2), from independent samples, ± standard error. Exact: closed forms for the quadratic and "
    "the ELBO, quadrature for the cosine.",
    figures=figures,
    statements=claims,
)
