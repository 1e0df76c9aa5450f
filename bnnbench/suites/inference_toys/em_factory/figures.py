"""Figure of a run of the factory."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import GREY, PALETTE, PlotOptions, new_figure
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.em_factory.saved_run import EMFactoryRun, read_run
from bnnbench.suites.inference_toys.saved_tables import read_table

MIN_ERROR = 1e-14
"""Smaller errors are rounding; they are drawn at this value."""

MAX_ITERATION_SHOWN = 25
"""Last iteration in the panels of the parameters."""


def em_figure(folder: RunFolder) -> Figure:
    """Plot the counts, the iterates with the closed form, the likelihood and the error."""
    run = read_run(folder)
    counts = read_table(folder, names.COUNTS, names.NUMERIC_COLUMNS[names.COUNTS])
    figure, panels = new_figure(11, 6.2, 3, 2)
    _counts(panels[0], counts[counts["start"] == counts["start"].min()])
    for axes, (column, label) in zip(
        panels[1:4],
        {"beta": "beta", "tau_1": "tau, first product", "tau_n": "tau, last product"}.items(),
        strict=True,
    ):
        _parameter(axes, run, column, label)
    top = run.iterates["log_likelihood"].max()
    for start, trajectory in run.trajectories:
        options = _plot_options(start)
        gap = (top - trajectory["log_likelihood"]).clip(lower=MIN_ERROR)
        panels[4].plot(trajectory["iteration"], gap, label=names.setting(start), **options)
        panels[5].plot(
            trajectory["iteration"], trajectory["error"].clip(lower=MIN_ERROR), **options
        )
    panels[4].set(ylabel="log-likelihood below\nits maximum [nats]", yscale="log")
    panels[5].set(ylabel="largest relative error", yscale="log")
    _slope(panels[5], run)
    for axes in panels[1:]:
        axes.set_xlabel("iteration")
    handles, labels = panels[4].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False)
    return figure


def _plot_options(start: int) -> PlotOptions:
    return {"color": PALETTE[start % len(PALETTE)], "linewidth": 1.4}


def _counts(axes: Axes, counts: pd.DataFrame) -> None:
    """Draw the counts; bars of the two hidden counts are hollow."""
    bars = []
    for shift, column, colour, hidden in (
        (-0.2, "impure", PALETTE[4], 0), (0.2, "faulty", PALETTE[3], len(counts) - 1),
    ):  # fmt: skip
        faces = [colour if k != hidden else "none" for k in range(len(counts))]
        axes.bar(counts["product"] + shift, counts[column], 0.38, color=faces, edgecolor=colour)
        bars.append(Patch(facecolor=colour, edgecolor=colour, label=column))
    bars.append(Patch(facecolor="none", edgecolor=GREY, label="hidden"))
    top = counts[["impure", "faulty"]].to_numpy().max()
    axes.set(xlabel="product", ylabel="count", ylim=(0, 1.3 * top))
    axes.legend(handles=bars, frameon=False, ncols=3, fontsize="small", loc="upper center")


def _parameter(axes: Axes, run: EMFactoryRun, column: str, label: str) -> None:
    for start, trajectory in run.trajectories:
        visible = trajectory[trajectory["iteration"] <= MAX_ITERATION_SHOWN]
        axes.plot(visible["iteration"], visible[column], **_plot_options(start))
    exact = run.select(names.EM, (column,))["exact"].iloc[0]
    axes.axhline(exact, color=GREY, linewidth=1.2, linestyle="--")
    axes.annotate("closed form", (MAX_ITERATION_SHOWN, exact), textcoords="offset points",
                  xytext=(0, 4), ha="right", color=GREY, fontsize="small")  # fmt: skip
    axes.set_ylabel(label)


def _slope(axes: Axes, run: EMFactoryRun) -> None:
    """Draw a line that decreases at the rate given by the fraction of missing information."""
    rate = run.select(names.EM, (names.RATE,))["exact"].iloc[0]
    trajectory = run.trajectories[0][1]
    iterations = trajectory["iteration"].to_numpy()
    line = 3 * trajectory["error"].iloc[0] * rate**iterations
    axes.plot(iterations, np.maximum(line, MIN_ERROR), color=GREY, linestyle="--", linewidth=1.2)
    axes.annotate(f"rate {rate:.3f}, the fraction\nof missing information", (0.97, 0.95),
                  ha="right", va="top", xycoords="axes fraction",
                  color=GREY, fontsize="small")  # fmt: skip
