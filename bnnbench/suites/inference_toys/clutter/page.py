"""The page of a run of the clutter problem: its figures, notes and claims."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import GREY, PALETTE, PlotOptions, legend, new_figure
from bnnbench.results.answers import ANSWERS
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.clutter import tables
from bnnbench.suites.inference_toys.clutter.claims import claims
from bnnbench.suites.inference_toys.clutter.tables import data_sets, read_run
from bnnbench.suites.inference_toys.maths import normal_density

PLOT_OPTIONS: dict[str, PlotOptions] = {
    tables.EP: {"color": PALETTE[0], "marker": "o"},
    tables.VB: {"color": PALETTE[5], "marker": "s", "linestyle": "--"},
    tables.LAPLACE: {"color": PALETTE[2], "marker": "^", "linestyle": "-."},
    tables.IMPORTANCE: {"color": PALETTE[3], "marker": "D", "linestyle": ":"},
    tables.GAUSSIAN_VI: {"color": PALETTE[1], "linestyle": (0, (5, 1, 1, 1))},
    tables.ADF: {"color": PALETTE[4], "linestyle": (0, (1, 1))},
}
"""Colours, line styles and markers by algorithm."""

SMALL_MARKERS: PlotOptions = {"markersize": 4, "linewidth": 1.3}

ZERO_LINE: PlotOptions = {"color": GREY, "linewidth": 1, "zorder": 0}

MIN_ERROR = 1e-13
"""Smaller errors are rounding; they are drawn at this value."""

SYMLOG_DISTANCE = 10.0
"""Distance above which a strip plot gets a symmetric log axis, linear up to 1."""

figures = Figures(read_run)


def panel_rows(
    run: SavedTables, width: float, height: float, columns: int
) -> tuple[Figure, list[tuple[SavedTables, list[Axes]]]]:
    """Return a figure with a row of panels for each data set."""
    parts = data_sets(run)
    figure, panels = new_figure(width, height * len(parts) + 0.5, columns, len(parts))
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    for data, row in zip(parts, rows, strict=True):
        for axes in row:
            axes.set_title(data[ANSWERS]["setting"][0])
    return figure, list(zip(parts, rows, strict=True))


def exact_value(data: SavedTables, quantity: str) -> float:
    """Return the exact value of a quantity."""
    return float(data.answer(quantity, tables.EP)["exact"])


@figures(
    "Absolute errors in the posterior mean and log evidence against the number of likelihood "
    "factors evaluated. Lines and bands: median and 10 % to 90 % quantiles over random orders (EP) "
    "or repetitions (importance sampling); large open circles: the first pass of EP, which is ADF"
)
def error_against_work(run: SavedTables) -> Figure:
    """Plot the errors of every algorithm, like Minka's figure."""
    figure, rows = panel_rows(run, 9.5, 3.3, 2)
    for data, panels in rows:
        columns = {"mean_error": "posterior mean", "evidence_error": "log evidence [nats]"}
        for axes, (column, quantity) in zip(panels, columns.items(), strict=True):
            for name in (tables.EP, tables.VB, tables.LAPLACE, tables.IMPORTANCE):
                plot_errors(axes, data.rows(tables.PROGRESS, algorithm=name), column, name)
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
    if name == tables.EP:
        first: PlotOptions = {"markerfacecolor": "white", "markersize": 8, "linestyle": "none"}
        label = "first pass of EP (ADF)"
        axes.plot(work.iloc[0], median.iloc[0], label=label, zorder=3, **options, **first)


@figures(
    "Errors of ADF and EP: one dot per random order of the observations, spread out vertically for "
    "legibility. Vertical line: the exact value"
)
def orders(run: SavedTables) -> Figure:
    figure, rows = panel_rows(run, 9.5, 2.1, 2)
    style: PlotOptions = {"alpha": 0.6, "markersize": 4, "linestyle": "none", "marker": "o"}
    for data, panels in rows:
        orders = data[tables.ORDERS]
        scale = exact_value(data, tables.SCALE)
        for axes, column, exact, unit in (
            (panels[0], "mean", exact_value(data, tables.MEAN), scale),
            (panels[1], "log_evidence", exact_value(data, tables.EVIDENCE), 1.0),
        ):
            for height, name in enumerate((tables.EP, tables.ADF)):
                errors = (orders[f"{name.lower()}_{column}"] - exact) / unit
                heights = height + np.linspace(-0.3, 0.3, len(errors))
                axes.plot(errors, heights, color=PLOT_OPTIONS[name]["color"], **style)
            axes.axvline(0, **ZERO_LINE)
            if np.abs(axes.dataLim.intervalx).max() > SYMLOG_DISTANCE:
                axes.set_xscale("symlog", linthresh=1)
            axes.set(yticks=[0, 1], yticklabels=[tables.EP, tables.ADF], ylim=(-0.6, 1.6))
            axes.set_title(f"{axes.get_title()}, {len(orders)} random orders")
        panels[0].set_xlabel("error of the mean [posterior standard deviations]")
        panels[1].set_xlabel("error of the log evidence [nats]")
    return figure


@figures(
    "Left: exact posterior (grey area), its approximations (lines) and the observations (ticks). "
    "Right: error of the log evidence, or of its lower bound, after each pass over the "
    "observations; horizontal line: the exact value"
)
def posterior(run: SavedTables) -> Figure:
    figure, rows = panel_rows(run, 10.5, 3.4, 2)
    for data, (left, right) in rows:
        plot_densities(left, data)
        for name in (tables.EP, tables.VB, tables.LAPLACE):
            steps = data.rows(tables.PROGRESS, algorithm=name).iloc[:20]
            errors = steps["log_evidence"] - exact_value(data, tables.EVIDENCE)
            right.plot(steps["step"], errors, **PLOT_OPTIONS[name], **SMALL_MARKERS)
        right.axhline(0, **ZERO_LINE)
        right.set_yscale("symlog", linthresh=0.01)
        right.xaxis.set_major_locator(MaxNLocator(integer=True))
        right.set(xlabel="pass over the observations", xlim=(0, None))
        right.set_ylabel("error of the log evidence\nor its bound [nats]")
    legend(figure, figure.axes[0], 4)
    return figure


def plot_densities(axes: Axes, data: SavedTables) -> None:
    """Draw the exact and approximate densities, and the observations."""
    mean, scale = (exact_value(data, quantity) for quantity in (tables.MEAN, tables.SCALE))
    low, high = mean - 4.5 * scale, mean + 4.5 * scale
    exact, points = data[tables.DENSITY], data[tables.POINTS]
    exact = exact[exact["theta"].between(low, high)]
    axes.fill_between(exact["theta"], exact["density"], color="#DDDDDD", label="exact posterior")
    grid, first_order = np.linspace(low, high, 400), data[tables.ORDERS].iloc[0]
    for name in (tables.ADF, tables.EP, tables.VB, tables.GAUSSIAN_VI, tables.LAPLACE):
        if name == tables.ADF:
            label, moments = f"{name}, one order", first_order[["adf_mean", "adf_scale"]]
        else:
            label, moments = name, [data.value(q, name) for q in (tables.MEAN, tables.SCALE)]
        options = {**PLOT_OPTIONS[name], "marker": "", "linewidth": 1.6}
        axes.plot(grid, normal_density(grid, *moments), label=label, **options)
    inside = points[points["value"].between(low, high)]
    for clutter, colour, label in ((0, "black", "signal"), (1, PALETTE[3], "clutter")):
        values = inside.loc[inside["clutter"] == clutter, "value"]
        axes.plot(values, np.zeros(len(values)), "|", color=colour, markersize=9, label=label)
    axes.set(xlabel="theta", ylabel="density", xlim=(low, high))


@figures(
    "Errors of power EP in the posterior mean, standard deviation and log evidence against the "
    "power (dots). Horizontal line: Gaussian VI, the limit for small powers; dotted vertical line: "
    "power 1, which is EP"
)
def powers(run: SavedTables) -> Figure:
    figure, rows = panel_rows(run, 11, 2.9, 3)
    labels = {
        tables.MEAN: "mean",
        tables.SCALE: "standard deviation",
        tables.EVIDENCE: "log evidence [nats]",
    }
    for data, panels in rows:
        powers = data[tables.POWERS].sort_values("power")
        for axes, column, (quantity, label) in zip(
            panels, tables.ESTIMATES, labels.items(), strict=True
        ):
            limit = data.answer(quantity, tables.GAUSSIAN_VI)
            errors, options = powers[column] - limit["exact"], PLOT_OPTIONS[tables.EP]
            axes.plot(powers["power"], errors, label="power EP", **options, **SMALL_MARKERS)
            options = PLOT_OPTIONS[tables.GAUSSIAN_VI]
            axes.axhline(limit["value"] - limit["exact"], label=tables.GAUSSIAN_VI, **options)
            axes.axvline(1, color=GREY, linewidth=1, linestyle=":", label="EP (power 1)")
            axes.set(xscale="log", xlabel="power of the factors", ylabel=f"error of the\n{label}")
            axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useOffset=False)
    legend(figure, figure.axes[0], 3)
    return figure


EXPERIMENT_PAGE = ExperimentPage(
    kind="clutter",
    title="The clutter problem",
    caption="theta is the mean of the signal among clutter; log evidence in nats. ADF: mean ± "
    "standard error over random orders. Importance sampling: mean ± standard error over "
    "repetitions, with the largest number of draws and the prior as proposal. The log evidence of "
    "variational Bayes and Gaussian VI (minimum reverse KL) is their lower bound. Work is the "
    "number of likelihood factors evaluated, at one theta or under one Gaussian; power EP by "
    "quadrature needs about two hundred times more than EP.",
    figures=figures,
    statements=claims,
)
