"""Figures of a run of the clutter problem."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import GREY, PALETTE, PlotOptions, legend, new_figure
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.saved_run import ClutterRun, read_run
from bnnbench.suites.inference_toys.saved_tables import read_table

PLOT_OPTIONS: dict[str, PlotOptions] = {
    names.EP: {"color": PALETTE[0], "marker": "o"},
    names.VB: {"color": PALETTE[5], "marker": "s", "linestyle": "--"},
    names.LAPLACE: {"color": PALETTE[2], "marker": "^", "linestyle": "-."},
    names.IMPORTANCE: {"color": PALETTE[3], "marker": "D", "linestyle": ":"},
    names.GAUSSIAN_VI: {"color": PALETTE[1], "linestyle": (0, (5, 1, 1, 1))},
    names.ADF: {"color": PALETTE[4], "linestyle": (0, (1, 1))},
}
"""Colours, line styles and markers by algorithm."""

SMALL_MARKERS: PlotOptions = {"markersize": 4, "linewidth": 1.3}

MIN_ERROR = 1e-13
"""Smaller errors are rounding; they are drawn at this value."""

SYMLOG_DISTANCE = 10.0
"""Distance above which a strip plot gets a symmetric log axis, linear up to 1."""


def error_figure(folder: RunFolder) -> Figure:
    """Plot errors in mean and log evidence against work, like Minka's figure."""
    run = read_run(folder)
    figure, panels = new_figure(9.5, 3.3 * len(run.sizes) + 0.5, 2, len(run.sizes))
    for size, pair in zip(run.sizes, zip(panels[::2], panels[1::2], strict=True), strict=True):
        for axes, column, quantity in zip(
            pair, ("mean_error", "evidence_error"), ("posterior mean", "log evidence [nats]"),
            strict=True,
        ):  # fmt: skip
            for name in (names.EP, names.VB, names.LAPLACE, names.IMPORTANCE):
                _error_line(axes, run.steps(name, size), column, name)
            axes.set(xscale="log", yscale="log", xlabel="likelihood factors evaluated")
            axes.set(ylabel=f"error in the {quantity}", title=names.setting(size))
    legend(figure, panels[0], 5)
    return figure


def _error_line(axes: Axes, steps: pd.DataFrame, column: str, name: str) -> None:
    values, work = steps[column].clip(lower=MIN_ERROR), steps["work"]
    axes.plot(work, values, label=name, **PLOT_OPTIONS[name], **SMALL_MARKERS)
    low, high = steps[f"{column}_low"].clip(lower=MIN_ERROR), steps[f"{column}_high"]
    axes.fill_between(
        work, low, high.clip(lower=MIN_ERROR), color=PLOT_OPTIONS[name]["color"], alpha=0.15
    )
    if name == names.EP:
        first: PlotOptions = {"markerfacecolor": "white", "markersize": 8, "linestyle": "none"}
        axes.plot(work.iloc[0], values.iloc[0], label="first pass of EP (ADF)", zorder=3,
                  marker="o", color=PLOT_OPTIONS[name]["color"], **first)  # fmt: skip


def order_figure(folder: RunFolder) -> Figure:
    """Plot the errors of ADF and EP for each random order."""
    run = read_run(folder)
    figure, panels = new_figure(9.5, 2.1 * len(run.sizes) + 0.6, 2, len(run.sizes))
    for size, pair in zip(run.sizes, zip(panels[::2], panels[1::2], strict=True), strict=True):
        orders = run.random_orders(size)
        mean, scale, evidence = (
            run.answer(quantity, names.EP, size)["exact"]
            for quantity in (names.MEAN, names.SCALE, names.EVIDENCE)
        )
        for name in ("ep", "adf"):
            _strip(pair[0], (orders[f"{name}_mean"] - mean) / scale, name)
            _strip(pair[1], orders[f"{name}_log_evidence"] - evidence, name)
        pair[0].set(xlabel="error of the mean [posterior standard deviations]")
        pair[1].set(xlabel="error of the log evidence [nats]")
        for axes in pair:
            axes.axvline(0, color=GREY, linewidth=1, zorder=0)
            if np.abs(axes.dataLim.intervalx).max() > SYMLOG_DISTANCE:
                axes.set_xscale("symlog", linthresh=1)
            axes.set(yticks=[0, 1], yticklabels=["EP", "ADF"], ylim=(-0.6, 1.6))
            axes.set_title(f"{names.setting(size)}, {len(orders)} random orders")
    return figure


def _strip(axes: Axes, values: pd.Series, name: str) -> None:
    """Draw a dot per order, spread out vertically."""
    height = {"ep": 0.0, "adf": 1.0}[name] + np.linspace(-0.3, 0.3, len(values))
    options: PlotOptions = {"alpha": 0.6, "markersize": 4, "linestyle": "none", "marker": "o"}
    axes.plot(values, height, color=PLOT_OPTIONS[name.upper()]["color"], **options)


def posterior_figure(folder: RunFolder) -> Figure:
    """Plot the exact and approximate posteriors, and the convergence of each algorithm."""
    run = read_run(folder)
    densities, points = (
        read_table(folder, name, names.NUMERIC_COLUMNS[name])
        for name in (names.DENSITY, names.POINTS)
    )
    figure, panels = new_figure(10.5, 3.4 * len(run.sizes) + 0.7, 2, len(run.sizes))
    for size, pair in zip(run.sizes, zip(panels[::2], panels[1::2], strict=True), strict=True):
        exact, data = (table[table["observations"] == size] for table in (densities, points))
        _densities(pair[0], run, size, exact, data)
        _objectives(pair[1], run, size)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def _densities(
    axes: Axes, run: ClutterRun, size: int, exact: pd.DataFrame, points: pd.DataFrame
) -> None:
    mean, scale = (
        run.answer(quantity, names.EP, size)["exact"] for quantity in (names.MEAN, names.SCALE)
    )
    low, high = mean - 4.5 * scale, mean + 4.5 * scale
    visible = exact[exact["theta"].between(low, high)]
    axes.fill_between(
        visible["theta"], visible["density"], color="#DDDDDD", label="exact posterior"
    )
    grid = np.linspace(low, high, 400)
    first = run.random_orders(size).iloc[0]
    moments = {names.ADF: (first["adf_mean"], first["adf_scale"])}
    for name in (names.EP, names.VB, names.GAUSSIAN_VI, names.LAPLACE):
        row = (run.answer(quantity, name, size)["value"] for quantity in (names.MEAN, names.SCALE))
        moments[name] = tuple(row)
    for name, (centre, std) in moments.items():
        density = np.exp(-0.5 * ((grid - centre) / std) ** 2) / std / np.sqrt(2 * np.pi)
        options = {key: value for key, value in PLOT_OPTIONS[name].items() if key != "marker"}
        label = f"{name}, one order" if name == names.ADF else name
        axes.plot(grid, density, label=label, linewidth=1.6, **options)
    inside = points[points["value"].between(low, high)]
    for clutter, colour, label in ((0, "black", "signal"), (1, PALETTE[3], "clutter")):
        values = inside.loc[inside["clutter"] == clutter, "value"]
        axes.plot(values, np.zeros(len(values)), "|", color=colour, markersize=9, label=label)
    axes.set(xlabel="theta", ylabel="density", xlim=(low, high), title=names.setting(size))


def _objectives(axes: Axes, run: ClutterRun, size: int) -> None:
    """Plot the error of the log evidence against passes."""
    exact = run.answer(names.EVIDENCE, names.EP, size)["exact"]
    for name in (names.EP, names.VB, names.LAPLACE):
        steps = run.steps(name, size).iloc[:20]
        axes.plot(
            steps["step"], steps["log_evidence"] - exact, **PLOT_OPTIONS[name], **SMALL_MARKERS
        )
    axes.axhline(0, color=GREY, linewidth=1, zorder=0)
    axes.set_yscale("symlog", linthresh=0.01)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="pass over the observations", title=names.setting(size))
    axes.set(ylabel="error of the log evidence\nor its bound [nats]", xlim=(0, None))


def power_figure(folder: RunFolder) -> Figure:
    """Plot power EP against the power, compared with EP and Gaussian VI."""
    run = read_run(folder)
    figure, panels = new_figure(11, 2.9 * len(run.sizes) + 0.5, 3, len(run.sizes))
    quantities = {
        "mean": (names.MEAN, "mean"),
        "scale": (names.SCALE, "standard deviation"),
        "log_evidence": (names.EVIDENCE, "log evidence [nats]"),
    }
    for index, axes in enumerate(panels):
        size = run.sizes[index // 3]
        column, (quantity, label) = list(quantities.items())[index % 3]
        rows = run.powers[run.powers["observations"] == size].sort_values("power")
        limit = run.answer(quantity, names.GAUSSIAN_VI, size)
        errors = rows[column] - limit["exact"]
        axes.plot(
            rows["power"], errors, label="power EP", **PLOT_OPTIONS[names.EP], **SMALL_MARKERS
        )
        options = PLOT_OPTIONS[names.GAUSSIAN_VI]
        axes.axhline(limit["value"] - limit["exact"], label="Gaussian VI", **options)
        axes.axvline(1, color=GREY, linewidth=1, linestyle=":", label="EP (power 1)")
        axes.set(xscale="log", xlabel="power of the factors", title=names.setting(size))
        axes.set(ylabel=f"error of the\n{label}")
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useOffset=False)
    legend(figure, panels[0], 3)
    return figure
