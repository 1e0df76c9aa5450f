"""The page of a run on gradient variances: its figures and claims."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    MAX_LOG_WIDTH,
    ORANGE,
    PALETTE,
    legend,
    new_figure,
)
from bnnbench.results.claims.claims import MAJORITY, CheckResult, Claims
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, run_reader
from bnnbench.suites.inference_toys import gradient_variance as experiment
from bnnbench.suites.inference_toys.gradient_estimators import (
    CONTROL_VARIATE,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
)
from bnnbench.suites.inference_toys.pages.shared import BOOK

COLOURS = {
    SCORE: ORANGE,
    CONTROL_VARIATE: PALETTE[1],
    PATHWISE: BLUE,
    PATH_DERIVATIVE: PALETTE[4],
}

PANELS = {
    experiment.QUADRATIC: [experiment.QUADRATIC],
    experiment.COSINE: [experiment.COSINE],
    "ELBO": [experiment.START, experiment.OPTIMUM],
}
"""Objectives in each panel, by title."""

PLACES = {experiment.START: "\n(prior)", experiment.OPTIMUM: "\n(posterior)"}
"""What q is at the ends of an optimisation, below its standard deviation."""

SPACING = 0.2
"""Distance of neighbouring estimators in a group of up to four."""

RELATIVE_TOLERANCE = 1e-9
"""Relative error of a gradient allowed for quadrature and rounding."""

PATHWISE_IS_CLOSER = f"the median KL(q || posterior) is lower with the {PATHWISE} gradient than"

claims = Claims()
read_run = run_reader(
    {
        # One row per objective, q, estimator and parameter.
        experiment.VARIANCES: ("scale", "gradient", *experiment.MOMENTS, "exact"),
        # KL to the exact posterior during gradient ascent, one row per estimator and step.
        experiment.CONVERGENCE: ("step", "samples", "low", "median", "high"),
    }
)

figures = Figures(read_run)


@figures(
    "Variance of each estimator of the gradient (dots, on a log scale) with respect to the mean "
    "(top) and log standard deviation (bottom) of q. Black lines: exact values where known; a "
    "grey 0 marks a variance of zero"
)
def variances(run: SavedRun) -> Figure:
    """Plot measured variances as dots, with exact values as lines."""
    figure, panels = new_figure(MAX_LOG_WIDTH, 5.6, len(PANELS), 2)
    places = product(experiment.PARAMETERS, PANELS.values())
    for axes, (parameter, objectives) in zip(panels, places, strict=True):
        rows = run.rows(experiment.VARIANCES, parameter=parameter)
        _draw_groups(axes, rows[rows["objective"].isin(objectives)])
    upper, lower = panels[: len(PANELS)], panels[len(PANELS) :]
    for top, bottom, title in zip(upper, lower, PANELS, strict=True):
        top.set_title(title, fontsize="medium")
        bottom.set_xlabel("standard deviation of q")
    for axes, parameter in zip((upper[0], lower[0]), experiment.PARAMETERS, strict=True):
        axes.set_ylabel(f"variance of the gradient\nw.r.t. the {parameter}")
    figure.align_xlabels(lower)
    legend(figure, panels[2], columns=5)
    return figure


def _draw_groups(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw a group of dots per standard deviation of q, one dot per estimator."""
    values = rows["scale"].unique()
    names = [name for name in ESTIMATORS if name in set(rows["estimator"])]
    for k, name in enumerate(names):
        selected = rows[rows["estimator"] == name].set_index("scale").loc[values]
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
    objectives = rows.drop_duplicates("scale").set_index("scale").loc[values, "objective"]
    ticks = [f"{value:.3g}{PLACES.get(name, '')}" for value, name in objectives.items()]
    axes.set_xticks(range(len(values)), ticks)


@figures(
    "Divergence from the posterior during gradient ascent on the ELBO; lines and bands: median and "
    "10 % to 90 % quantiles over repetitions"
)
def convergence(run: SavedRun) -> Figure:
    figure, (axes,) = new_figure(5.2, 4.0)
    for name, rows in run[experiment.CONVERGENCE].groupby("estimator", sort=False):
        colour, samples = COLOURS[str(name)], rows["samples"]
        axes.plot(samples, rows["median"], color=colour, linewidth=1.5, label=str(name))
        axes.fill_between(samples, rows["low"], rows["high"], color=colour, alpha=0.2, linewidth=0)
    axes.set(yscale="log", xlabel="samples of z", ylabel="KL(q || posterior) [nats]")
    axes.set_ylim(1e-7, None)
    legend(figure, axes, columns=2)
    return figure


@claims(
    "Gradient estimates by eq. 3.77 are biased because of the logarithm",
    source=f"{BOOK}, 3.2.4.1",
    rule="the mean over all minibatches, by quadrature over z, differs from the gradient by a "
    f"relative error of more than {RELATIVE_TOLERANCE:g}",
)
def is_biased_by_logarithm(run: SavedRun) -> CheckResult:
    rows = run[ANSWERS][run[ANSWERS]["setting"].str.contains(experiment.ALL_MINIBATCHES)]
    error = (rows["value"] / rows["exact"] - 1).abs().max()
    return bool(error > RELATIVE_TOLERANCE), f"relative error over all minibatches {error:.0e}"


@claims(
    "The score-function estimator generally has a higher variance than the pathwise estimator",
    source=f"{BOOK}, A.1",
    rule=f"its variance exceeds that of the pathwise estimator in at least {MAJORITY:.0%} of "
    "setups and parameters",
)
def has_higher_variance(run: SavedRun) -> CheckResult:
    table = _by_estimator(run)
    higher = table[SCORE] > table[PATHWISE]
    others = sorted({f"{name}, std {scale:.3g}" for name, scale, _ in table.index[~higher]})
    exceptions = f"; not for {'; '.join(others)}" if others else ""
    return bool(higher.mean() >= MAJORITY), f"higher in {higher.sum()} of {len(higher)}{exceptions}"


@claims(
    "Control variates reduce the variance of the score-function estimator",
    source=f"{BOOK}, 3.2.4.1, Ranganath et al. 2014",
    rule="the optimal control variate, which never increases the variance, reduces it by more than "
    "half in the median over setups and parameters",
)
def control_variate_reduces_variance(run: SavedRun) -> CheckResult:
    table = _by_estimator(run)
    ratio = table[CONTROL_VARIATE] / table[SCORE]
    evidence = f"reduced to {ratio.median():.0%} in the median, range {ratio.min():.0%}"
    return bool(ratio.median() < 0.5), f"{evidence} to {ratio.max():.0%}"


@claims(
    "With equal samples, the pathwise gradient converges closer than the score function",
    source=f"{BOOK}, 3.2.4.1",
    rule=f"{PATHWISE_IS_CLOSER} with {SCORE}, after a tenth of the steps and at the end",
    other=SCORE,
)
@claims(
    "With equal samples, the pathwise gradient converges closer than the control variate",
    source=f"{BOOK}, 3.2.4.1",
    rule=f"{PATHWISE_IS_CLOSER} with {CONTROL_VARIATE}, after a tenth of the steps and at the end",
    other=CONTROL_VARIATE,
)
def converges_closer(run: SavedRun, other: str) -> CheckResult:
    table = run[experiment.CONVERGENCE].pivot_table("median", "samples", "estimator")
    early = table.index[table.index >= table.index.max() / 10].min()
    rows = table.loc[[early, table.index.max()]]
    evidence = "; ".join(
        f"{PATHWISE} {row[PATHWISE]:.2g}, {other} {row[other]:.2g} nats after {samples} samples"
        for samples, row in rows.iterrows()
    )
    return bool((rows[PATHWISE] < rows[other]).all()), evidence


@claims(
    "At the posterior, estimators that sample both log p and log q have zero variance",
    source=f"{BOOK}, eq. 3.77, Roeder et al. 2017",
    rule="at the posterior, the score function (3.77), with and without control variate, and the "
    "path derivative have zero variance",
)
def has_zero_variance_at_posterior(run: SavedRun) -> CheckResult:
    rows = run.rows(experiment.VARIANCES, objective=experiment.OPTIMUM)
    table = rows.groupby("estimator")["variance"].max()
    variances = table[[SCORE, CONTROL_VARIATE, PATH_DERIVATIVE]]
    evidence = ", ".join(
        f"variance of {name} {variance:.3g}" for name, variance in variances.items()
    )
    return bool((variances == 0).all()), evidence


def _by_estimator(run: SavedRun) -> pd.DataFrame:
    """Return the exact variances by setup and parameter (rows) and estimator."""
    keys = ["objective", "scale", "parameter"]
    return run[experiment.VARIANCES].pivot_table("exact", keys, "estimator", sort=False)


EXPERIMENT_PAGE = ExperimentPage(
    kind=experiment.GradientVariance.kind,
    title="Variance of gradient estimators",
    caption="Gradients with respect to the mean and the log standard deviation of q = Normal(mean, "
    "std^2), from independent samples, ± standard error. Exact: closed forms for the quadratic and "
    "the ELBO, quadrature for the cosine.",
    figures=figures,
    statements=claims,
    settings=SourceSettings(grids=("scales",), counts=("draws",)),
)
