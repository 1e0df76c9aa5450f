"""The page of a run of the clutter problem: its figures and claims."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import binomtest

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import (
    GREY,
    MAX_LOG_WIDTH,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
)
from bnnbench.results.claims.claims import CheckResult, Claims, NotTestable, undecided_share
from bnnbench.results.claims.mean_tests import LEVEL
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, run_reader
from bnnbench.results.compare.significance import holm
from bnnbench.suites.inference_toys import clutter as experiment
from bnnbench.suites.inference_toys.clutter import FIXED_POINT_TOLERANCE
from bnnbench.suites.inference_toys.maths import normal_density
from bnnbench.suites.inference_toys.pages.shared import (
    BOOK,
    combine,
    exact_value,
    for_every,
    observed_sizes,
)

PLOT_OPTIONS: dict[str, PlotOptions] = {
    experiment.EP: {"color": PALETTE[0], "marker": "o"},
    experiment.VB: {"color": PALETTE[5], "marker": "s", "linestyle": "--"},
    experiment.LAPLACE: {"color": PALETTE[2], "marker": "^", "linestyle": "-."},
    experiment.IMPORTANCE: {"color": PALETTE[3], "marker": "D", "linestyle": ":"},
    experiment.GAUSSIAN_VI: {"color": PALETTE[1], "linestyle": (0, (5, 1, 1, 1))},
    experiment.ADF: {"color": PALETTE[4], "linestyle": (0, (1, 1))},
}
"""Colours, line styles and markers by algorithm."""

SMALL_MARKERS: PlotOptions = {"markersize": 4, "linewidth": 1.3}

ZERO_LINE: PlotOptions = {"color": GREY, "linewidth": 1, "zorder": 0}

MIN_ERROR = 1e-13
"""Smaller errors are rounding; they are drawn at this value."""

SYMLOG_DISTANCE = 10.0
"""Distance above which a strip plot gets a symmetric log axis, linear up to 1."""

MIN_RELATIVE_STD = 0.1
"""Standard deviation over orders, relative to the posterior's, that counts as dependence."""

EXCEEDS = (
    "its standard deviation exceeds the exact one in significantly more than half of the simulated "
    f"data sets of each size (two-sided sign test, p below {LEVEL} after Holm's correction); "
    "contradicted if in significantly fewer"
)

claims = Claims()
read_run = run_reader(experiment.NUMBERS)


def data_sets(run: SavedRun) -> list[SavedRun]:
    """Return the tables of each data set, by increasing number of observations."""
    return [
        SavedRun(run.folder, {
            ANSWERS: run.rows(ANSWERS, setting=experiment.setting_of(size)),
            **{name: run.rows(name, observations=size) for name in experiment.NUMBERS},
        })
        for size in observed_sizes(run, experiment.POINTS)
    ]  # fmt: skip


figures = Figures(read_run)


def panel_rows(
    run: SavedRun, width: float, height: float, columns: int
) -> tuple[Figure, list[tuple[SavedRun, list[Axes]]]]:
    """Return a figure with a row of panels for each data set."""
    parts = data_sets(run)
    figure, panels = new_figure(width, height * len(parts) + 0.5, columns, len(parts))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    for data, row in zip(parts, rows, strict=True):
        for axes in row:
            axes.set_title(data[ANSWERS]["setting"][0])
    return figure, list(zip(parts, rows, strict=True))


@figures(
    "Absolute errors in the posterior mean and log evidence against the number of likelihood "
    "factors evaluated. Lines and bands: median and 10 % to 90 % quantiles over random orders (EP) "
    "or repetitions (importance sampling); large open circles: the first pass of EP, which is ADF"
)
def error_against_work(run: SavedRun) -> Figure:
    """Plot the errors of every algorithm, like Minka's figure."""
    figure, rows = panel_rows(run, MAX_LOG_WIDTH, 3.3, 2)
    for data, panels in rows:
        columns = {"mean_error": "posterior mean", "evidence_error": "log evidence [nats]"}
        for axes, (column, quantity) in zip(panels, columns.items(), strict=True):
            for name in (experiment.EP, experiment.VB, experiment.LAPLACE, experiment.IMPORTANCE):
                plot_errors(axes, data.rows(experiment.PROGRESS, algorithm=name), column, name)
            axes.set(xscale="log", yscale="log", xlabel="likelihood factors evaluated")
            axes.set_ylabel(f"error in the {quantity}")
    legend(figure, figure.axes[0], 5)
    return figure


def plot_errors(axes: Axes, steps: pd.DataFrame, column: str, name: str) -> None:
    """Draw the median error of one algorithm and its band against work."""
    work, options = steps["work"], PLOT_OPTIONS[name]
    low, median, high = (
        steps[f"{column}{suffix}"].clip(lower=MIN_ERROR) for suffix in ("_low", "", "_high")
    )
    axes.plot(work, median, label=name, **options, **SMALL_MARKERS)
    axes.fill_between(work, low, high, color=options["color"], alpha=0.15)
    if name == experiment.EP:
        first: PlotOptions = {"markerfacecolor": "white", "markersize": 8, "linestyle": "none"}
        label = "first pass of EP (ADF)"
        axes.plot(work.iloc[0], median.iloc[0], label=label, zorder=3, **options, **first)


@figures(
    "Errors of ADF and EP: one dot per random order of the observations, spread out vertically for "
    "legibility. Vertical line: the exact value"
)
def orders(run: SavedRun) -> Figure:
    figure, rows = panel_rows(run, MAX_LOG_WIDTH, 2.1, 2)
    style: PlotOptions = {"alpha": 0.6, "markersize": 4, "linestyle": "none", "marker": "o"}
    for data, panels in rows:
        orders = data[experiment.ORDERS]
        scale = exact_value(data, experiment.SCALE)
        for axes, column, exact, unit in (
            (panels[0], "mean", exact_value(data, experiment.MEAN), scale),
            (panels[1], "log_evidence", exact_value(data, experiment.EVIDENCE), 1.0),
        ):
            for height, name in enumerate((experiment.EP, experiment.ADF)):
                errors = (orders[f"{name.lower()}_{column}"] - exact) / unit
                heights = height + np.linspace(-0.3, 0.3, len(errors))
                axes.plot(errors, heights, color=PLOT_OPTIONS[name]["color"], **style)
            axes.axvline(0, **ZERO_LINE)
            if np.abs(axes.dataLim.intervalx).max() > SYMLOG_DISTANCE:
                axes.set_xscale("symlog", linthresh=1)
            axes.set(yticks=[0, 1], yticklabels=[experiment.EP, experiment.ADF], ylim=(-0.6, 1.6))
            axes.set_title(f"{axes.get_title()}, {len(orders)} random orders")
        panels[0].set_xlabel("error of the mean [posterior standard deviations]")
        panels[1].set_xlabel("error of the log evidence [nats]")
    return figure


@figures("Exact posterior (grey area), its approximations (lines) and the observations (ticks)")
def posterior(run: SavedRun) -> Figure:
    figure, rows = panel_rows(run, 6.5, 3.4, 1)
    for data, (axes,) in rows:
        plot_densities(axes, data)
    legend(figure, figure.axes[0], 4)
    return figure


def plot_densities(axes: Axes, data: SavedRun) -> None:
    """Draw the exact and approximate densities, and the observations."""
    mean, scale = (exact_value(data, quantity) for quantity in (experiment.MEAN, experiment.SCALE))
    low, high = mean - 4.5 * scale, mean + 4.5 * scale
    exact, points = data[experiment.DENSITY], data[experiment.POINTS]
    exact = exact[exact["theta"].between(low, high)]
    axes.fill_between(exact["theta"], exact["density"], color="#DDDDDD", label="exact posterior")
    grid, first_order = np.linspace(low, high, 400), data[experiment.ORDERS].iloc[0]
    for name in (
        experiment.ADF,
        experiment.EP,
        experiment.VB,
        experiment.GAUSSIAN_VI,
        experiment.LAPLACE,
    ):
        label, moments = name, [data.value(q, name) for q in (experiment.MEAN, experiment.SCALE)]
        if name == experiment.ADF:
            label, moments = f"{name}, one order", first_order[["adf_mean", "adf_scale"]]
        options = {**PLOT_OPTIONS[name], "marker": "", "linewidth": 1.6}
        axes.plot(grid, normal_density(grid, *moments), label=label, **options)
    inside = points[points["value"].between(low, high)]
    for clutter, colour, label in ((0, "black", "signal"), (1, PALETTE[3], "clutter")):
        values = inside.loc[inside["clutter"] == clutter, "value"]
        axes.plot(values, np.zeros(len(values)), "|", color=colour, markersize=9, label=label)
    axes.set(xlabel="theta", ylabel="density", xlim=(low, high))


on_every_data_set = for_every(lambda run: zip(data_sets(run), strict=True))


def size_of(run: SavedRun) -> str:
    """Return the number of observations of a data set, as evidence states it."""
    return f"(N = {len(run[experiment.POINTS])})"


@claims(
    "ADF depends on the ordering of the factors",
    source=f"{BOOK}, 3.2.2.3",
    rule="over random orders, the standard deviation of ADF's mean exceeds "
    f"{MIN_RELATIVE_STD} exact posterior standard deviations, for every number of observations",
)
@on_every_data_set
def depends_on_order(run: SavedRun) -> CheckResult:
    std = run.value(experiment.MEAN_STD, experiment.ADF)
    scale = exact_value(run, experiment.SCALE)
    evidence = f"sd of the mean over orders {std:.2g}, of the exact posterior {scale:.2g}"
    return std > MIN_RELATIVE_STD * scale, f"{evidence} {size_of(run)}"


@claims(
    "Refining each factor in the context of all others removes the dependence on the order",
    source=f"{BOOK}, 3.2.3",
    rule=f"EP converges to the same mean within {FIXED_POINT_TOLERANCE:g} in every random order, "
    "for the data set of the figures and all others",
)
@on_every_data_set
def has_one_fixed_point(run: SavedRun) -> CheckResult:
    orders = run[experiment.ORDERS]
    distances = (orders["ep_mean"] - run.value(experiment.MEAN, experiment.EP)).abs()
    others = orders[distances > FIXED_POINT_TOLERANCE]
    evidence = f"same mean in {len(orders) - len(others)} of {len(orders)} orders {size_of(run)}"
    if len(others):
        means = ", ".join(f"{value:.3g}" for value in sorted(set(others["ep_mean"].round(6))))
        loss = run.value(experiment.EVIDENCE, experiment.EP) - others["ep_log_evidence"].max()
        evidence += f", the others at {means} with {loss:.3g} nats less log evidence"
    exceptions = run[experiment.DATA_SETS]["deviating_orders"] > 0
    evidence += f"; several means on {exceptions.sum()} of {len(exceptions)} data sets"
    return others.empty and not exceptions.any(), evidence


@claims("ADF overestimates the variance", source=f"{BOOK}, 3.2.2.3", rule=EXCEEDS, column="adf")
@claims("EP overestimates the variance", source=f"{BOOK}, 3.3", rule=EXCEEDS, column="ep")
def overestimates_variance(run: SavedRun, column: str) -> CheckResult:
    found = [(own, own[experiment.DATA_SETS].dropna(subset=column)) for own in data_sets(run)]
    counts = [int((rows[column] > rows["exact"]).sum()) for _, rows in found]
    p = holm(np.array([
        binomtest(count, len(rows)).pvalue for count, (_, rows) in zip(counts, found, strict=True)
    ]))  # fmt: skip
    level = LEVEL / len(found)
    return combine(
        (
            2 * count > len(rows)
            if one < LEVEL
            else undecided_share(count, len(rows), "data sets", 0.5, level=level),
            f"larger than exact on {count} of {len(rows)} data sets, p {one:.2g} {size_of(own)}",
        )
        for count, (own, rows), one in zip(counts, found, p, strict=True)
    )


@claims(
    "Variational inference underestimates the variance",
    source=f"{BOOK}, 3.2.1.6 and 3.3",
    rule=f"the standard deviation of {experiment.VB} and {experiment.GAUSSIAN_VI} is below the "
    "exact one on every data set",
)
@on_every_data_set
def underestimates_variance(run: SavedRun) -> CheckResult:
    rows = {
        name: run.answer(experiment.SCALE, name) for name in (experiment.VB, experiment.GAUSSIAN_VI)
    }
    errors = {name: row["value"] / row["exact"] - 1 for name, row in rows.items()}
    return combine(
        (error < 0, f"{name} {100 * error:+.2g} % {size_of(run)}") for name, error in errors.items()
    )


@claims(
    "A single site may be improper, although the product of all sites is a distribution",
    source=f"{BOOK}, 3.2.3.1",
    rule="some sites of EP have negative precision, and its posterior standard deviation is finite",
)
@on_every_data_set
def has_improper_sites(run: SavedRun) -> CheckResult:
    count, scale = (
        run.value(name, experiment.EP) for name in (experiment.NEGATIVE_SITES, experiment.SCALE)
    )
    holds = bool(count > 0 and np.isfinite(scale))
    return holds, f"{count:.0f} of {len(run[experiment.POINTS])} sites are improper"


@claims(
    "An iteration of EP may increase its energy",
    source=f"{BOOK}, 3.2.3.4",
    rule="in some random order, a pass of EP decreases its log evidence",
)
def energy_can_increase(run: SavedRun) -> CheckResult:
    decreases = {size_of(one): one[experiment.ORDERS]["n_decreases"] > 0 for one in data_sets(run)}
    evidence = (f"in {n.sum()} of {len(n)} orders {size}" for size, n in decreases.items())
    return any(n.any() for n in decreases.values()), "; ".join(evidence)


@claims(
    "On Gaussian mixtures, EP is more accurate than Monte Carlo, Laplace's method and variational "
    "Bayes for the same amount of computation",
    source="Minka, thesis, MIT 2001, abstract",
    rule="after every pass of EP except the first (ADF), its median errors in mean and log "
    "evidence are below those of each competitor at the same or lower cost",
)
@on_every_data_set
def is_most_accurate_per_work(run: SavedRun) -> CheckResult:
    columns, results = ["mean_error", "evidence_error"], []
    for competitor in (experiment.VB, experiment.LAPLACE, experiment.IMPORTANCE):
        steps = run.rows(experiment.PROGRESS, algorithm=competitor)
        wins = [
            bool((ep_pass[columns] < affordable[columns].iloc[-1]).all())
            for _, ep_pass in run.rows(experiment.PROGRESS, algorithm=experiment.EP)
            .iloc[1:]
            .iterrows()
            if len(affordable := steps[steps["work"] <= ep_pass["work"]])
        ]
        evidence = (
            f"better than {competitor} after {sum(wins)} of {len(wins)} passes {size_of(run)}"
        )
        results.append((all(wins) if wins else None, evidence))
    holds, evidence = combine(results)
    if holds is None:
        raise NotTestable(evidence)
    return holds, evidence


EXPERIMENT_PAGE = ExperimentPage(
    kind="clutter",
    title="The clutter problem",
    caption="theta is the mean of the signal among clutter; log evidence in nats. ADF: mean ± "
    "standard error over random orders. Importance sampling: mean ± standard error over "
    "repetitions, with the largest number of draws and the prior as proposal. The log evidence of "
    "variational Bayes and Gaussian VI (minimum reverse KL) is their lower bound. Work is the "
    "number of likelihood factors evaluated, at one theta or under one Gaussian.",
    figures=figures,
    statements=claims,
    settings=SourceSettings(
        grids=("draws", "sizes"),
        counts=("orders", "data_sets"),
        own=lambda folder: {"sizes": observed_sizes(read_run(folder), experiment.POINTS)},
    ),
)
