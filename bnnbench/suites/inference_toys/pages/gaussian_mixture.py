"""The page of a run on the Bayesian mixture: its figures and claims."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import BLUE, GREY, PALETTE, legend, new_figure
from bnnbench.results.claims.claims import CheckResult, Claims
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, run_reader
from bnnbench.suites.inference_toys import gaussian_mixture as experiment
from bnnbench.suites.inference_toys.gaussian_mixture import CAVI, FEW, MANY, STOCHASTIC_VI
from bnnbench.suites.inference_toys.pages.shared import BOOK, plot_starts

SCHEDULE_STYLES = {
    experiment.CAVI: ("black", "--"),
    experiment.DECREASING: (BLUE, "-"),
    experiment.CONSTANT: (PALETTE[1], "-"),
    experiment.TOO_FAST: (PALETTE[3], "-"),
}

GAP_TOLERANCE = 0.1
"""Difference in nats within which the gap equals log K!."""

MAX_DISTANCE_RATIO = 0.75
"""Largest ratio of late to early distance that counts as convergence. It is about a half for steps
`t^-0.75`, whose distances decrease as `t^-0.375`, and 1 for constant steps."""

DISTANCE = "the mean distance to CAVI's fixed point in the last tenth of the passes is"
IN_SECOND_TENTH = f"{MAX_DISTANCE_RATIO:g} of that in the second tenth"

claims = Claims()
read_run = run_reader(
    {
        experiment.TRACE: ("start", "iteration", "elbo"),
        experiment.STOCHASTIC: ("repetition", "passes", "distance"),
    }
)

figures = Figures(read_run)


@figures(
    "ELBO by iteration of CAVI, one line per random start; dots: last iteration. Black line: exact "
    "log evidence; dashed line: the same minus log K!, since each start finds one of K! equivalent "
    "modes"
)
def starts(run: SavedRun) -> Figure:
    figure, panels = new_figure(8.0, 3.6, 2)
    for axes, (title, part) in zip(panels, ((FEW, "few"), (MANY, "many")), strict=True):
        trace = run.rows(experiment.TRACE, part=part)
        plot_starts(axes, trace, "elbo")
        axes.set(title=title, ylabel="ELBO [nats]")
    ends = trace.groupby("start")["elbo"].last()
    margin = max(np.ptp(ends), 0.1 * abs(ends.max()))
    panels[1].set_ylim(ends.max() - 2.5 * margin, ends.max() + 0.3 * margin)
    exact = run.answer(experiment.EVIDENCE, CAVI, FEW)["exact"]
    one_mode = exact - run.value(experiment.LABELLINGS, "K!")
    panels[0].set_ylim(one_mode - 8, exact + 0.8)
    panels[0].axhline(exact, color="black", linewidth=1.2, label="exact log evidence")
    name = "exact log evidence - log K!"
    panels[0].axhline(one_mode, color=GREY, linewidth=1.2, linestyle="--", label=name)
    lines = panels[0].get_lines()[-2:]
    figure.legend(handles=lines, loc="outside upper center", ncols=2, frameon=False)
    return figure


@figures(
    "Root mean square distance of the component means to the fixed point of CAVI, against passes "
    "through the data. Lines and bands: mean and range over repetitions of stochastic VI; dashed "
    "line: CAVI"
)
def stochastic(run: SavedRun) -> Figure:
    figure, (axes,) = new_figure(6.4, 4.0)
    for schedule, (colour, dashes) in SCHEDULE_STYLES.items():
        rows = run.rows(experiment.STOCHASTIC, schedule=schedule)
        band = rows.groupby("passes")["distance"].agg(["mean", "min", "max"])
        axes.plot(band.index, band["mean"], color=colour, linestyle=dashes, label=schedule)
        axes.fill_between(band.index, band["min"], band["max"], color=colour, alpha=0.15, lw=0)
    repetitions = run[experiment.STOCHASTIC]["repetition"].max() + 1
    axes.set(xscale="log", yscale="log", ylim=(3e-4, None))
    axes.set_title(f"mean and range of {repetitions} repetitions", fontsize="small")
    axes.set(xlabel="passes through the data", ylabel="distance to CAVI's fixed point")
    legend(figure, axes, columns=2)
    return figure


@claims(
    "Coordinate ascent reaches a local optimum",
    source=f"{BOOK}, 3.2.1.4",
    rule="on the many points, not all starts reach the best ELBO",
)
def has_local_optima(run: SavedRun) -> CheckResult:
    quantities = (experiment.BEST_FRACTION, experiment.EVIDENCE, experiment.WORST_ELBO)
    fraction, best, worst = (run.value(quantity, CAVI, MANY) for quantity in quantities)
    evidence = f"{fraction:.0%} of starts reach the best ELBO, {best:.1f}; worst {worst:.1f}"
    return fraction < 1, evidence


@claims(
    "The approximation matches a single mode of the posterior",
    source=f"{BOOK}, 3.2.1.6",
    rule=f"on the few points, log evidence - ELBO is within {GAP_TOLERANCE:g} nats of log K!, the "
    "gap when q fits one of K! equal and separate modes",
)
def fits_one_mode(run: SavedRun) -> CheckResult:
    gap, labellings = run.value(experiment.GAP, CAVI), run.value(experiment.LABELLINGS, "K!")
    return abs(gap - labellings) <= GAP_TOLERANCE, f"gap {gap:.4f}, log K! {labellings:.4f}"


@claims(
    "The approximation underestimates the marginal variances",
    source=f"{BOOK}, 3.2.1.6",
    rule="on the few points, the standard deviation of the lowest mean is below that of its exact "
    "posterior, with components identified by the order of their means",
)
def underestimates_variance(run: SavedRun) -> CheckResult:
    std = run.answer(experiment.LOWEST_MEAN_STD, CAVI, FEW)
    evidence = f"standard deviation {std['value']:.4f}, exact {std['exact']:.4f}"
    return std["value"] < std["exact"], evidence


@claims(
    "Stochastic VI converges if step sizes have an infinite sum and a finite sum of squares",
    source=f"{BOOK}, (3.19)",
    rule=f"{DISTANCE} at most {IN_SECOND_TENTH}",
    schedule=experiment.DECREASING,
    converges=True,
)
@claims(
    "With constant steps, whose squares have no finite sum, stochastic VI keeps a distance",
    source=f"{BOOK}, (3.19), second condition",
    rule=f"{DISTANCE} more than {IN_SECOND_TENTH}",
    schedule=experiment.CONSTANT,
    converges=False,
)
@claims(
    "With steps that decrease too fast, whose sum is finite, stochastic VI stops too early",
    source=f"{BOOK}, (3.19), first condition",
    rule=f"{DISTANCE} more than {IN_SECOND_TENTH}",
    schedule=experiment.TOO_FAST,
    converges=False,
)
def converges_or_not(run: SavedRun, schedule: str, converges: bool) -> CheckResult:
    early = run.value(experiment.EARLY_DISTANCE, STOCHASTIC_VI, schedule)
    late = run.value(experiment.LATE_DISTANCE, STOCHASTIC_VI, schedule)
    evidence = f"distance {early:.4f} early, {late:.4f} late"
    return (late <= MAX_DISTANCE_RATIO * early) == converges, evidence


@claims(
    "Stochastic VI is faster than processing all data in each iteration",
    source=f"{BOOK}, 3.2.1.5",
    rule="with decreasing steps, stochastic VI is within 0.1 of CAVI's fixed point after fewer "
    "passes through the data than CAVI",
)
def is_faster_than_cavi(run: SavedRun) -> CheckResult:
    stochastic = run.value(experiment.PASSES, STOCHASTIC_VI, experiment.DECREASING)
    cavi = run.value(experiment.PASSES, CAVI, MANY)
    return stochastic < cavi, f"{stochastic:.2f} passes, CAVI {cavi:.0f}"


@claims(
    "Maximising the ELBO over a parameter approximates maximising the evidence",
    source=f"{BOOK}, 3.2.1.4, step 2",
    rule="the fitted prior variance is within 5 % of the maximiser of the exact evidence",
)
def maximises_evidence(run: SavedRun) -> CheckResult:
    fit = run.answer(experiment.PRIOR_VARIANCE, experiment.VARIATIONAL_EM, FEW)
    evidence = f"prior variance {fit['value']:.4f}, exact {fit['exact']:.4f}"
    return abs(fit["value"] / fit["exact"] - 1) <= 0.05, evidence


EXPERIMENT_PAGE = ExperimentPage(
    kind=experiment.GaussianMixture.kind,
    title="Bayesian mixture of Gaussians",
    caption=(
        "CAVI and variational EM: the start with the highest ELBO, which approximates the log "
        "evidence. Few points: exact values by a sum over all assignments. Stochastic VI: mean ± "
        "standard error over repetitions; distance is the root mean square over the means of the "
        "components, one pass is N points."
    ),
    figures=figures,
    statements=claims,
    settings=SourceSettings(counts=("starts",)),
)
