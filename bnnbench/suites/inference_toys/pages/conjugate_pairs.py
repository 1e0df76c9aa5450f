"""The page of a run of the conjugate pairs: its figure and claims."""

from __future__ import annotations

from itertools import product

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import PALETTE, PlotOptions, legend, new_figure
from bnnbench.results.claims.claims import CheckResult, Claims
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, run_reader
from bnnbench.suites.inference_toys import conjugate_pairs as model
from bnnbench.suites.inference_toys.conjugate_pairs import DENSITIES, ConjugatePairs, setting
from bnnbench.suites.inference_toys.maths import normal_density
from bnnbench.suites.inference_toys.pages.shared import BOOK, for_every, observed_sizes

PARAMETERS = {model.MeanPair.name: "mean", model.PrecisionPair.name: "precision"}
"""Labels of the parameter of each pair."""

CURVES: dict[str, PlotOptions] = {
    "prior": {"color": PALETTE[1], "linestyle": "--"},
    "likelihood": {"color": PALETTE[0], "linestyle": "-."},
    "posterior": {"color": PALETTE[5]},
}

ESTIMATES = {model.MLE: PALETTE[0], model.MAP: PALETTE[5]}
"""Colours of the vertical lines."""

RELATIVE_TOLERANCE = 1e-5
"""Relative error within which an equation is correct."""

read_run = run_reader({DENSITIES: ("observations", "value", "prior", "likelihood", "posterior")})

figures = Figures(read_run)


@figures(
    "Prior, likelihood (scaled to a density) and posterior of a normal mean (top) and a precision "
    "(bottom), one column per number of observations. Dotted vertical lines: maximum likelihood "
    "(MLE) and maximum a posteriori (MAP) estimates. As printed: the posterior by (2.38) and "
    "(2.39) as printed, cut off at the top if it is too narrow"
)
def posteriors(run: SavedRun) -> Figure:
    """Like Fig. 2.4."""
    sizes = observed_sizes(run, DENSITIES)
    figure, panels = new_figure(2.9 * len(sizes) + 0.6, 5.6, len(sizes), 2)
    for axes, (pair, size) in zip(panels, product(PARAMETERS, sizes), strict=True):
        _draw_densities(axes, run, pair, size)
    legend(figure, panels, 6)
    return figure


def _draw_densities(axes: Axes, run: SavedRun, pair: str, size: int) -> None:
    rows = run.rows(DENSITIES, pair=pair, observations=size)
    for name, options in CURVES.items():
        axes.plot(rows["value"], rows[name], label=name, linewidth=1.6, **options)
    low, high = rows["value"].iloc[0], rows["value"].iloc[-1]
    answers = run.rows(ANSWERS, setting=setting(size))
    values = answers.set_index(["quantity", "approximation"])["value"]
    for estimate, colour in ESTIMATES.items():
        value = values[f"{pair}: {estimate}", model.CLOSED_FORM]
        if low <= value <= high:
            axes.axvline(value, label=estimate, linewidth=1.6, color=colour, linestyle=":")
    if (f"{pair}: {model.MEAN}", model.AS_PRINTED) in values:
        moments = (
            values[f"{pair}: {name}", model.AS_PRINTED] for name in (model.MEAN, model.SCALE)
        )
        density = normal_density(rows["value"], *moments)
        axes.plot(rows["value"], density, label="as printed", color=PALETTE[3])
    # The prior is left out because it may be infinite at 0.
    top = rows[["likelihood", "posterior"]].to_numpy().max()
    axes.set(xlim=(low, high), ylim=(0, 1.1 * top if top > 0 else 1), xlabel=PARAMETERS[pair])
    axes.set(ylabel="density", title=setting(size))


claims = Claims()


@claims(
    "The posterior of a normal mean is normal with (2.38) and (2.39) as printed",
    source=f"{BOOK}, 2.5.2",
    rule="their mean and standard deviation agree with the corrected equations to a relative "
    f"{RELATIVE_TOLERANCE:g} for every number of observations",
)
def printed_equations_give_the_posterior(run: SavedRun) -> CheckResult:
    rows = run.rows(ANSWERS, approximation=model.AS_PRINTED)
    errors = (rows["value"] - rows["exact"]).abs() / rows["exact"].abs()
    worst = rows.loc[errors.idxmax()]
    evidence = f"{worst['quantity']} {worst['value']:.5g}, exact {worst['exact']:.5g}"
    holds = bool((errors <= RELATIVE_TOLERANCE).all())
    return holds, f"largest error for {worst['setting']}: {evidence}"


@claims(
    "MLE and MAP differ in general and converge as the number of observations grows",
    source=f"{BOOK}, Fig. 2.4",
    rule="MLE and MAP differ for every pair and number of observations N, and from the fewest to "
    "the most observations the difference decreases at least as fast as 1 / sqrt(N)",
)
@for_every(lambda run: product([run], (model.MeanPair.name, model.PrecisionPair.name)))
def mle_and_map_converge(run: SavedRun, pair: str) -> CheckResult:
    rows = run.rows(ANSWERS, approximation=model.CLOSED_FORM)
    mle, map_ = (
        rows.loc[rows["quantity"] == f"{pair}: {name}", "value"].to_numpy()
        for name in (model.MLE, model.MAP)
    )
    differences, sizes = np.abs(map_ - mle), observed_sizes(run, DENSITIES)
    scaled = differences * np.sqrt(sizes)
    evidence = ", ".join(
        f"{value:.2g} (N = {size})" for value, size in zip(differences, sizes, strict=True)
    )
    holds = bool(differences.min() > 0 and scaled[-1] <= scaled[0])
    return holds, f"difference, {pair}: {evidence}"


EXPERIMENT_PAGE = ExperimentPage(
    kind=ConjugatePairs.kind,
    title="Conjugate pairs",
    caption="Estimates in the units of the observations (precision: one over their square), log "
    "evidence in nats. The closed form takes (2.38) as one over the posterior variance and adds "
    "two variances missing in (2.39); as printed: both equations as the book prints them, next to "
    "the corrected values.",
    figures=figures,
    statements=claims,
    settings=SourceSettings(
        free=("mean_range", "precision_range"),
        grids=("sizes",),
        own=lambda folder: {"sizes": observed_sizes(read_run(folder), DENSITIES)},
    ),
)
