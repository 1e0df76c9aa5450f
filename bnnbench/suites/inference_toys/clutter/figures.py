"""The figures of a run of the clutter problem, drawn from its tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import GREY, PALETTE, Look, legend, sketch
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.rules import ClutterRun, read_clutter
from bnnbench.suites.inference_toys.reading import read_table

LOOKS: dict[str, Look] = {
    names.EP: {"color": PALETTE[0], "marker": "o"},
    names.VB: {"color": PALETTE[5], "marker": "s", "linestyle": "--"},
    names.LAPLACE: {"color": PALETTE[2], "marker": "^", "linestyle": "-."},
    names.IMPORTANCE: {"color": PALETTE[3], "marker": "D", "linestyle": ":"},
    names.GAUSSIAN_VI: {"color": PALETTE[1], "linestyle": (0, (5, 1, 1, 1))},
    names.ADF: {"color": PALETTE[4], "linestyle": (0, (1, 1))},
}
"""Colours, dashes and marks by algorithm."""

SMALL: Look = {"markersize": 4, "linewidth": 1.3}

LEAST = 1e-13
"""Errors below it are rounding, and are drawn there."""

FAR = 10.0
"""From which distance on a strip is drawn on a logarithmic axis, linear up to 1."""


def error_figure(folder: RunFolder) -> Figure:
    """Errors in mean and log evidence against work, in the manner of Minka's figure."""
    run = read_clutter(folder)
    figure, panels = sketch(9.5, 3.3 * len(run.sizes) + 0.5, 2, len(run.sizes))
    for size, pair in zip(run.sizes, zip(panels[::2], panels[1::2], strict=True), strict=True):
        for axes, column, what in zip(
            pair, ("mean_error", "evidence_error"), ("posterior mean", "log evidence [nats]"),
            strict=True,
        ):  # fmt: skip
            for name in (names.EP, names.VB, names.LAPLACE, names.IMPORTANCE):
                _error_line(axes, run.path(name, size), column, name)
            axes.set(xscale="log", yscale="log", xlabel="likelihood factors evaluated")
            axes.set(ylabel=f"error in the {what}", title=names.setting(size))
    legend(figure, panels[0], 5)
    return figure


def _error_line(axes: Axes, path: pd.DataFrame, column: str, name: str) -> None:
    values, work = path[column].clip(lower=LEAST), path["work"]
    axes.plot(work, values, label=name, **LOOKS[name], **SMALL)
    low, high = path[f"{column}_low"].clip(lower=LEAST), path[f"{column}_high"]
    axes.fill_between(work, low, high.clip(lower=LEAST), color=LOOKS[name]["color"], alpha=0.15)
    if name == names.EP:
        first: Look = {"markerfacecolor": "white", "markersize": 8, "linestyle": "none"}
        axes.plot(work.iloc[0], values.iloc[0], label="its first pass, ADF", zorder=3,
                  marker="o", color=LOOKS[name]["color"], **first)  # fmt: skip


def order_figure(folder: RunFolder) -> Figure:
    """What ADF and EP come to in each random order, from the exact answer."""
    run = read_clutter(folder)
    figure, panels = sketch(9.5, 2.1 * len(run.sizes) + 0.6, 2, len(run.sizes))
    for size, pair in zip(run.sizes, zip(panels[::2], panels[1::2], strict=True), strict=True):
        orders = run.in_orders(size)
        mean, scale, evidence = (
            run.answer(quantity, names.EP, size)["exact"]
            for quantity in (names.MEAN, names.SCALE, names.EVIDENCE)
        )
        for name in ("ep", "adf"):
            _strip(pair[0], (orders[f"{name}_mean"] - mean) / scale, name)
            _strip(pair[1], orders[f"{name}_log_evidence"] - evidence, name)
        pair[0].set(xlabel="mean less the exact one, in posterior deviations")
        pair[1].set(xlabel="log evidence less the exact one [nats]")
        for axes in pair:
            axes.axvline(0, color=GREY, linewidth=1, zorder=0)
            if np.abs(axes.dataLim.intervalx).max() > FAR:
                axes.set_xscale("symlog", linthresh=1)
            axes.set(yticks=[0, 1], yticklabels=["EP", "ADF"], ylim=(-0.6, 1.6))
            axes.set_title(f"{names.setting(size)}, {len(orders)} random orders")
    return figure


def _strip(axes: Axes, values: pd.Series, name: str) -> None:
    """A dot per order, moved up and down by its place so that they can be told apart."""
    height = {"ep": 0.0, "adf": 1.0}[name] + np.linspace(-0.3, 0.3, len(values))
    look: Look = {"alpha": 0.6, "markersize": 4, "linestyle": "none", "marker": "o"}
    axes.plot(values, height, color=LOOKS[name.upper()]["color"], **look)


def posterior_figure(folder: RunFolder) -> Figure:
    """The exact posterior and what each algorithm puts in its place; how each came there."""
    run = read_clutter(folder)
    densities, points = (
        read_table(folder, name, names.NUMBERS[name]) for name in (names.DENSITY, names.POINTS)
    )
    figure, panels = sketch(10.5, 3.4 * len(run.sizes) + 0.7, 2, len(run.sizes))
    for size, pair in zip(run.sizes, zip(panels[::2], panels[1::2], strict=True), strict=True):
        own, seen = (table[table["observations"] == size] for table in (densities, points))
        _densities(pair[0], run, size, own, seen)
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
    near = exact[exact["theta"].between(low, high)]
    axes.fill_between(near["theta"], near["density"], color="#DDDDDD", label="exact posterior")
    grid = np.linspace(low, high, 400)
    first = run.in_orders(size).iloc[0]
    moments = {names.ADF: (first["adf_mean"], first["adf_scale"])}
    for name in (names.EP, names.VB, names.GAUSSIAN_VI, names.LAPLACE):
        row = (run.answer(quantity, name, size)["value"] for quantity in (names.MEAN, names.SCALE))
        moments[name] = tuple(row)
    for name, (middle, deviation) in moments.items():
        density = np.exp(-0.5 * ((grid - middle) / deviation) ** 2) / deviation / np.sqrt(2 * np.pi)
        look = {key: value for key, value in LOOKS[name].items() if key != "marker"}
        said = f"{name}, one order" if name == names.ADF else name
        axes.plot(grid, density, label=said, linewidth=1.6, **look)
    inside = points[points["value"].between(low, high)]
    for clutter, colour, said in ((0, "black", "signal"), (1, PALETTE[3], "clutter")):
        values = inside.loc[inside["clutter"] == clutter, "value"]
        axes.plot(values, np.zeros(len(values)), "|", color=colour, markersize=9, label=said)
    axes.set(xlabel="theta", ylabel="density", xlim=(low, high), title=names.setting(size))


def _objectives(axes: Axes, run: ClutterRun, size: int) -> None:
    """How the estimates of the log evidence came near the exact one, pass by pass."""
    exact = run.answer(names.EVIDENCE, names.EP, size)["exact"]
    for name in (names.EP, names.VB, names.LAPLACE):
        path = run.path(name, size).iloc[:20]
        axes.plot(path["step"], path["log_evidence"] - exact, **LOOKS[name], **SMALL)
    axes.axhline(0, color=GREY, linewidth=1, zorder=0)
    axes.set_yscale("symlog", linthresh=0.01)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="pass over the observations", title=names.setting(size))
    axes.set(ylabel="log evidence, or its bound,\nless the exact one [nats]", xlim=(0, None))


def power_figure(folder: RunFolder) -> Figure:
    """Power EP from EP, and beyond, to the Gaussian of least reverse KL."""
    run = read_clutter(folder)
    figure, panels = sketch(11, 2.9 * len(run.sizes) + 0.5, 3, len(run.sizes))
    quantities = {
        "mean": (names.MEAN, "mean"),
        "scale": (names.SCALE, "standard deviation"),
        "log_evidence": (names.EVIDENCE, "log evidence [nats]"),
    }
    for place, axes in enumerate(panels):
        size = run.sizes[place // 3]
        column, (quantity, said) = list(quantities.items())[place % 3]
        own = run.powers[run.powers["observations"] == size].sort_values("power")
        limit = run.answer(quantity, names.GAUSSIAN_VI, size)
        values = own[column] - limit["exact"]
        axes.plot(own["power"], values, label="power EP", **LOOKS[names.EP], **SMALL)
        look = LOOKS[names.GAUSSIAN_VI]
        axes.axhline(limit["value"] - limit["exact"], label="Gaussian of least reverse KL", **look)
        axes.axvline(1, color=GREY, linewidth=1, linestyle=":", label="EP")
        axes.set(xscale="log", xlabel="power of the factors", title=names.setting(size))
        axes.set(ylabel=f"{said},\nless the exact one")
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useOffset=False)
    legend(figure, panels[0], 3)
    return figure
