"""The figure of a run of the factory, drawn from its tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import GREY, PALETTE, Look, sketch
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.em_factory.rules import FactoryRun, read_factory
from bnnbench.suites.inference_toys.reading import read_table

LEAST = 1e-14
"""What is smaller is rounding."""

SHOWN = 25
"""Iterations of the parameters; what follows does not show."""


def em_figure(folder: RunFolder) -> Figure:
    """The counts, the iterates beside the exact lines, the likelihood and the error."""
    run = read_factory(folder)
    counts = read_table(folder, names.COUNTS, names.NUMBERS[names.COUNTS])
    figure, panels = sketch(11, 6.2, 3, 2)
    _counts(panels[0], counts[counts["start"] == counts["start"].min()])
    for axes, (column, said) in zip(
        panels[1:4],
        {"beta": "beta", "tau_1": "tau, first product", "tau_n": "tau, last product"}.items(),
        strict=True,
    ):
        _parameter(axes, run, column, said)
    top = run.iterates["log_likelihood"].max()
    for start, path in run.paths:
        look = _look(start)
        gap = (top - path["log_likelihood"]).clip(lower=LEAST)
        panels[4].plot(path["iteration"], gap, label=names.setting(start), **look)
        panels[5].plot(path["iteration"], path["error"].clip(lower=LEAST), **look)
    panels[4].set(ylabel="log-likelihood below\nits maximum [nats]", yscale="log")
    panels[5].set(ylabel="largest relative error", yscale="log")
    _slope(panels[5], run)
    for axes in panels[1:]:
        axes.set_xlabel("iteration")
    handles, labels = panels[4].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False)
    return figure


def _look(start: int) -> Look:
    return {"color": PALETTE[start % len(PALETTE)], "linewidth": 1.4}


def _counts(axes: Axes, counts: pd.DataFrame) -> None:
    """What was counted; the two hidden counts are hollow."""
    bars = []
    for shift, column, colour, hidden in (
        (-0.2, "impure", PALETTE[4], 0), (0.2, "faulty", PALETTE[3], len(counts) - 1),
    ):  # fmt: skip
        faces = [colour if place != hidden else "none" for place in range(len(counts))]
        places = counts["product"] + shift
        axes.bar(places, counts[column], 0.38, color=faces, edgecolor=colour)
        bars.append(Patch(facecolor=colour, edgecolor=colour, label=column))
    bars.append(Patch(facecolor="none", edgecolor=GREY, label="not seen"))
    top = counts[["impure", "faulty"]].to_numpy().max()
    axes.set(xlabel="product", ylabel="count", ylim=(0, 1.3 * top))
    axes.legend(handles=bars, frameon=False, ncols=3, fontsize="small", loc="upper center")


def _parameter(axes: Axes, run: FactoryRun, column: str, said: str) -> None:
    for start, path in run.paths:
        shown = path[path["iteration"] <= SHOWN]
        axes.plot(shown["iteration"], shown[column], **_look(start))
    exact = run.of(names.EM, (column,))["exact"].iloc[0]
    axes.axhline(exact, color=GREY, linewidth=1.2, linestyle="--")
    axes.annotate("closed form", (SHOWN, exact), textcoords="offset points", xytext=(0, 4),
                  ha="right", color=GREY, fontsize="small")  # fmt: skip
    axes.set_ylabel(said)


def _slope(axes: Axes, run: FactoryRun) -> None:
    """A line that falls by the share of missing information, beside the first start's error."""
    rate = run.of(names.EM, (names.RATE,))["exact"].iloc[0]
    path = run.paths[0][1]
    steps = path["iteration"].to_numpy()
    line = 3 * path["error"].iloc[0] * rate**steps
    axes.plot(steps, np.maximum(line, LEAST), color=GREY, linestyle="--", linewidth=1.2)
    axes.annotate(f"falls by {rate:.3f},\nthe missing information", (0.97, 0.95), ha="right",
                  va="top", xycoords="axes fraction", color=GREY, fontsize="small")  # fmt: skip
