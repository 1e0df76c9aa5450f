"""The page of a run on the unknown noise precision: its figures and claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import (
    GREY,
    MAX_LOG_WIDTH,
    MAX_WIDTH,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
)
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings
from bnnbench.suites.inference_toys.maths import normal_density
from bnnbench.suites.inference_toys.noise_precision import tables
from bnnbench.suites.inference_toys.pages.noise_precision_claims import claims, read_run
from bnnbench.suites.inference_toys.pages.shared import exact_value

BLUE, YELLOW, GREEN, PINK, SKY, RED = PALETTE[:6]

Key = tuple[str, str]
"""Approximation and setting."""

DENSITY_STYLES: dict[Key, PlotOptions] = {
    (tables.EXACT, ""): {"color": "#BBBBBB", "linewidth": 5},
    (tables.CAVI, ""): {"color": BLUE, "linewidth": 1.6},
    (tables.ADVI, tables.FULL): {"color": PINK, "linewidth": 1.6, "linestyle": (0, (1, 1.2))},
    (tables.ADF, tables.GAUSSIAN_K): {"color": YELLOW, "linewidth": 1.8, "linestyle": "-."},
    (tables.EP, tables.GAUSSIAN_K): {"color": RED, "linewidth": 1.6, "linestyle": (0, (5, 2))},
    (tables.EP, tables.EXACT_K): {
        "color": GREEN, "linewidth": 1.6, "linestyle": (0, (3, 1, 1, 1))
    },
}  # fmt: skip
"""Styles of the densities of the noise precision, in drawing order."""

GRADIENT_STYLES: dict[Key, PlotOptions] = {
    (tables.ADVI, tables.MEAN_FIELD): {"color": SKY, "linewidth": 1.2},
    (tables.ADVI, tables.FULL): {"color": PINK, "linewidth": 1.2},
    (tables.BLACK_BOX_VI, ""): {"color": YELLOW, "linewidth": 1.2},
}

EP_STYLES: dict[str, PlotOptions] = {
    tables.GAUSSIAN_K: {"color": RED, "marker": "o", "markersize": 4},
    tables.EXACT_K: {"color": GREEN, "marker": "s", "markersize": 4},
}

REFERENCE_STYLE: PlotOptions = {"color": GREY, "linewidth": 1.2, "linestyle": "--"}

LEGEND_STYLE: PlotOptions = {"frameon": False, "fontsize": "small"}

figures = Figures(read_run)


def rows_of(run: SavedRun, table: str, approximation: str, setting: str = "") -> pd.DataFrame:
    """Return the rows of one algorithm with one setting."""
    return run.rows(table, approximation=approximation, setting=setting)


@figures(
    "Exact and approximate densities of the noise precision, and their differences from the exact "
    "density (dashed line: zero). Last panel: the standard "
    "deviation by alpha for power EP and black-box alpha; dashed line: the exact value"
)
def densities(run: SavedRun) -> Figure:
    figure, panels = new_figure(MAX_WIDTH, 3.9, 3)
    target = rows_of(run, tables.DENSITIES, tables.EXACT)
    for key, style in DENSITY_STYLES.items():
        rows = rows_of(run, tables.DENSITIES, *key)
        panels[0].plot(rows["noise_precision"], rows["density"], label=label_of(key), **style)
        if key[0] != tables.EXACT:
            errors = rows["density"] - target["density"]
            panels[1].plot(rows["noise_precision"], errors, **style)
    panels[0].set(xlabel="noise precision", ylabel="density", xlim=(0, None), ylim=(0, None))
    panels[0].legend(**LEGEND_STYLE)
    panels[1].axhline(0, **REFERENCE_STYLE)
    panels[1].set(xlabel="noise precision", ylabel="density - exact", xlim=(0, None))
    plot_std_by_alpha(panels[2], run)
    return figure


def label_of(key: Key) -> str:
    return "exact posterior" if key[0] == tables.EXACT else ", ".join(filter(None, key))


def plot_std_by_alpha(axes: Axes, run: SavedRun) -> None:
    """Draw standard deviations from VI to EP."""
    for name, colour, marker in ((tables.POWER_EP, BLUE, "o"), (tables.BLACK_BOX_ALPHA, RED, "s")):
        rows = run.rows(tables.POWERS, approximation=name)
        options: PlotOptions = {"marker": marker, "markersize": 4, "linewidth": 1.2}
        axes.plot(rows["alpha"], rows["std"], label=name, color=colour, **options)
    axes.axhline(exact_value(run, tables.STD), label="exact", **REFERENCE_STYLE)
    axes.set(xlabel="alpha (-1: VI, 1: EP)", ylabel="standard deviation of noise precision")
    axes.set_xticks([-1, -0.5, 0, 0.5, 1])
    axes.legend(**LEGEND_STYLE)


@figures(
    "Lower bounds and estimates of the log evidence by iteration; the bound decreases with (3.29) "
    "as printed, and EP's estimate is its negative energy. Dashed lines: the exact log evidence "
    "or, for stochastic gradients (gap on a log scale), the gap of CAVI after convergence"
)
def objectives(run: SavedRun) -> Figure:
    exact = exact_value(run, tables.EVIDENCE)
    figure, panels = new_figure(MAX_LOG_WIDTH, 3.6, 3)
    plot_cavi(panels[0], run)
    for key, style in GRADIENT_STYLES.items():
        steps = rows_of(run, tables.STEPS, *key)
        panels[1].plot(steps["step"], exact - steps["objective"], label=label_of(key), **style)
    gap = exact - run.value(tables.EVIDENCE, tables.CAVI, "")
    panels[1].axhline(gap, label="CAVI, converged", **REFERENCE_STYLE)
    panels[1].set(xlabel="stochastic gradient step", yscale="log")
    panels[1].set_ylabel("log evidence - bound [nats]")
    panels[1].legend(**LEGEND_STYLE)
    plot_energy(panels[-1], run)
    return figure


def plot_cavi(axes: Axes, run: SavedRun) -> None:
    """Draw the bound of coordinate ascent after every update of one factor."""
    exact = exact_value(run, tables.EVIDENCE)
    axes.axhline(exact, label="exact log evidence", **REFERENCE_STYLE)
    for setting, colour in (("", BLUE), (tables.AS_PRINTED, RED)):
        # The bound of the prior is far below the others.
        steps = rows_of(run, tables.STEPS, tables.CAVI, setting).iloc[1:]
        label = f"lower bound of {label_of((tables.CAVI, setting))}"
        axes.plot(steps["step"] / 2, steps["objective"], ".-", color=colour, label=label)
    axes.set(xlabel="iteration (two updates)", ylabel="log evidence [nats]", xlim=(0, None))
    axes.legend(loc="center right", **LEGEND_STYLE)


def plot_energy(axes: Axes, run: SavedRun) -> None:
    """Draw EP's estimate of the log evidence, its negative energy, after every pass."""
    exact = exact_value(run, tables.EVIDENCE)
    axes.axhline(exact, label="exact log evidence", **REFERENCE_STYLE)
    for setting, style in EP_STYLES.items():
        steps = rows_of(run, tables.STEPS, tables.EP, setting).iloc[1:]
        axes.plot(steps["step"], steps["objective"], label=f"EP's estimate, {setting}", **style)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="pass over the data", ylabel="log evidence [nats]")
    axes.legend(**LEGEND_STYLE)


@figures(
    "Left: density of the weight as one observation is included repeatedly, darker with each "
    "inclusion. Right: standard deviation relative to the mean by number of inclusions, for the "
    "weight and the noise precision; dashed line: the exact value for the noise precision"
)
def repeated(run: SavedRun) -> Figure:
    """Plot the book's Fig. 3.10."""
    figure, (left, right) = new_figure(10.0, 4.2, 2)
    plot_repeated_inclusion(left, run.rows(tables.REPEATED, factors=tables.ONE_FACTOR))
    options: PlotOptions = {"color": BLUE, "marker": "."}
    plot_relative_std(right, run, tables.ONE_FACTOR, "weight, one observation", **options)
    for setting, style in EP_STYLES.items():
        options = {**style, "linewidth": 1.0, "markersize": 3}
        for name, linestyle in ((tables.ADF, "-"), (tables.EP, ":")):
            label = f"noise precision, {name} over all data, {setting}"
            factors = f"{name}, {setting}"
            plot_relative_std(right, run, factors, label, linestyle=linestyle, **options)
    exact = exact_value(run, tables.STD) / exact_value(run, tables.MEAN)
    right.axhline(exact, label="noise precision, exact", **REFERENCE_STYLE)
    right.set(xscale="log", yscale="log", xlabel="inclusions of the same factors")
    right.set_ylabel("standard deviation / mean")
    for axis in (right.xaxis, right.yaxis):  # numbers such as 5 and 0.2
        axis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    legend(figure, right, columns=2)
    return figure


def plot_repeated_inclusion(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the density of the weight after each inclusion of one observation."""
    mean, std = rows.loc[0, "mean"], rows.loc[0, "std"]
    grid, shades = np.linspace(mean - 3.5 * std, mean + 3.5 * std, 500), colormaps["Blues"]
    for count, mean, std in zip(rows["inclusions"], rows["mean"], rows["std"], strict=True):
        label = f"after {count}" if count in (1, len(rows)) else ""
        colour = shades(0.25 + 0.75 * count / len(rows))
        density = normal_density(grid, mean, std)
        axes.plot(grid, density, color=colour, linewidth=1.1, label=label)
    axes.set(xlabel="weight", ylabel="density", ylim=(0, None))
    axes.set_title(f"one observation included 1 to {len(rows)} times", fontsize="small")
    axes.legend(**LEGEND_STYLE)


def plot_relative_std(axes: Axes, run: SavedRun, factors: str, label: str, **style: Any) -> None:
    """Draw the standard deviation over the mean by number of inclusions."""
    rows = run.rows(tables.REPEATED, factors=factors)
    axes.plot(rows["inclusions"], rows["std"] / rows["mean"].abs(), label=label, **style)


EXPERIMENT_PAGE = ExperimentPage(
    kind="noise_precision",
    title="Linear model with unknown noise precision",
    caption="Noise precision and weight of a linear model, in the units of the data; log evidence "
    "and KL in nats. The log evidence of VI is its lower bound, that of ADF and EP their estimate. "
    "Exact: the posterior by quadrature. The target of (3.48) integrates the weight out of every "
    "factor separately. Gaussian K: normalisers by (3.52); "
    "exact K: by quadrature. ADF and EP: in the order of the data, or mean ± standard error over "
    "random orders. As printed: with (3.29) and (3.56) as printed; updates whose cavity or result "
    "is improper are skipped. alpha as in (3.68): -1 is VI, 1 is EP.",
    figures=figures,
    statements=claims,
    settings=SourceSettings(grids=("powers", "sizes"), counts=("orders",)),
)
