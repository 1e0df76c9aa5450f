"""The figures of a run on the Bayesian mixture, each drawn from the run's own tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, PALETTE, Look, legend, sketch
from bnnbench.results.answers import read_answers, value_of
from bnnbench.suites.inference_toys.gaussian_mixture import tables
from bnnbench.suites.inference_toys.gaussian_mixture.model import log_predictive
from bnnbench.suites.inference_toys.gaussian_mixture.rules import exact_of
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import bound_of_prior_variance
from bnnbench.suites.inference_toys.reading import read_table

SHOWN = (0, 1, 5)
"""Iterations whose density is drawn, beside the last."""

TRACED = ("start", "iteration", "elbo", "held_out")


def read_trace(folder: RunFolder, part: str) -> pd.DataFrame:
    """Rows of `trace.csv` of one part."""
    trace = read_table(folder, tables.TRACE, TRACED)
    return trace[trace["part"] == part]


def densities_figure(folder: RunFolder) -> Figure:
    """The many points and the density of a new one, as coordinate ascent goes on."""
    points = read_table(folder, tables.POINTS, ("point",))
    data = points.loc[points["part"] == tables.MANY, "point"].to_numpy()
    trace = read_trace(folder, tables.MANY)
    best = trace.loc[trace["elbo"].idxmax(), "start"]
    path = trace[trace["start"] == best].set_index("iteration").dropna(axis=1)
    shown = sorted({t for t in SHOWN if t < len(path) - 1} | {len(path) - 1})
    figure, panels = sketch(3.1 * len(shown), 3.0, len(shown))
    margin = 0.08 * np.ptp(data)
    grid = np.linspace(data.min() - margin, data.max() + margin, 400)
    heights = []
    for axes, iteration in zip(panels, shown, strict=True):
        row = path.loc[iteration]
        loc = row.filter(like="loc_").to_numpy(dtype=float)
        variance = row.filter(like="variance_").to_numpy(dtype=float)
        density = np.exp(log_predictive(grid, loc, variance))
        counts, _, _ = axes.hist(data, bins=50, density=True, color="#D9D9D9", label="data")
        heights += [float(np.max(counts)), float(density.max())]
        axes.plot(grid, density, color=BLUE, linewidth=1.8, label="density of a new point")
        for k, mean in enumerate(loc):
            label = "means of the components" if k == 0 else None
            axes.axvline(mean, color=ORANGE, linewidth=1, linestyle="--", label=label)
        name = "start" if iteration == 0 else f"iteration {iteration}"
        axes.set_title(f"{name}: ELBO {row['elbo']:.0f} nats", fontsize="small")
        axes.set(xlabel="x", xlim=(grid[0], grid[-1]))
    for axes in panels:
        axes.set_ylim(0, 1.05 * max(heights))
    panels[0].set_ylabel("density")
    legend(figure, panels[0])
    return figure


def starts_figure(folder: RunFolder) -> Figure:
    """ELBO of every start on few and many points, and how well the many are predicted."""
    figure, panels = sketch(11.5, 3.6, 3)
    answers = read_answers(folder)
    points = read_table(folder, tables.POINTS, ("point",))["part"].value_counts()
    few, many = (read_trace(folder, part) for part in (tables.FEW, tables.MANY))
    exact = exact_of(answers, tables.EVIDENCE, tables.ASCENT, tables.FEW_POINTS)
    labellings = value_of(answers, tables.LABELLINGS, "K!", tables.FEW_POINTS)
    true = value_of(answers, tables.HELD_OUT, "the means that made the data")
    _paths(panels[0], few, "elbo")
    look: Look = {"linewidth": 1.2}
    lines = [
        panels[0].axhline(exact, color="black", label="exact log evidence", **look),
        panels[0].axhline(exact - labellings, color=GREY, label="log K! below it", **look),
        panels[2].axhline(true, color="black", label="means that made the data", **look),
    ]
    for line in lines[1:]:
        line.set_linestyle((0, (4, 3)) if line is lines[1] else ":")
    _paths(panels[1], many, "elbo")
    _paths(panels[2], many, "held_out")
    panels[0].set_ylim(few["elbo"].max() - 8, exact + 0.8)
    for axes, column in zip(panels[1:], ("elbo", "held_out"), strict=True):
        ends = many.groupby("start")[column].last()
        room = max(np.ptp(ends), 0.1 * abs(ends.max()))
        axes.set_ylim(ends.max() - 2.5 * room, ends.max() + 0.3 * room)
    panels[0].set(title=f"{points[tables.FEW]} points", ylabel="ELBO [nats]")
    panels[1].set(title=f"{points[tables.MANY]} points", ylabel="ELBO [nats]")
    panels[2].set(title="new points", ylabel="mean log density [nats]")
    names = [str(line.get_label()) for line in lines]
    start = panels[0].get_lines()[0]
    figure.legend(
        [start, *lines],
        ["a start of CAVI, to its end", *names],
        loc="outside upper center",
        ncols=4,
        frameon=False,
    )
    return figure


def _paths(axes: Axes, trace: pd.DataFrame, column: str) -> None:
    """A line per start, with a dot where it ended."""
    for start, path in trace.groupby("start"):
        colour = PALETTE[int(str(start)) % len(PALETTE)]
        axes.plot(path["iteration"], path[column], color=colour, linewidth=1, alpha=0.9)
        axes.plot(*path[["iteration", column]].to_numpy()[-1], "o", color=colour, markersize=4)
    axes.set_xlabel("iteration")


def stochastic_figure(folder: RunFolder) -> Figure:
    """Distance to coordinate ascent's fixed point against passes through the data."""
    table = read_table(folder, tables.STOCHASTIC, ("repetition", "passes", "distance"))
    figure, (axes,) = sketch(6.4, 4.0)
    looks = {
        tables.ASCENT: ("black", "--", "CAVI"),
        tables.DECREASING: (BLUE, "-", "decreasing steps"),
        tables.CONSTANT: (PALETTE[1], "-", "constant steps"),
        tables.TOO_FAST: (PALETTE[3], "-", "steps that fall too fast"),
    }
    for schedule, (colour, dashes, name) in looks.items():
        own = table[table["schedule"] == schedule].groupby("passes")["distance"]
        mean = own.mean()
        axes.plot(mean.index, mean, color=colour, linestyle=dashes, label=name)
        if schedule != tables.ASCENT:
            low, high = own.min(), own.max()
            axes.fill_between(mean.index, low, high, color=colour, alpha=0.15, linewidth=0)
    repetitions = table["repetition"].max() + 1
    axes.set(xscale="log", yscale="log", ylim=(3e-4, None))
    axes.set_title(f"mean and range of {repetitions} repetitions", fontsize="small")
    axes.set_xlabel("passes through the data")
    axes.set_ylabel("distance of the means to CAVI's fixed point")
    legend(figure, axes, columns=2)
    return figure


def prior_variance_figure(folder: RunFolder) -> Figure:
    """Evidence and ELBO of the few points against the prior variance, and variational EM's bounds.

    As the lecture draws EM: the bound with the factors of each E-step held fixed touches the ELBO
    there, and its maximum is where the next E-step is.
    """
    curve = read_table(folder, tables.CURVE, ("prior_variance", "log_evidence", "elbo"))
    path = read_table(folder, tables.PATH, ("prior_variance", "elbo", "square"))
    components = read_trace(folder, tables.FEW).filter(like="loc_").notna().any().sum()
    figure, (axes,) = sketch(6.8, 4.2)
    grid = curve["prior_variance"].to_numpy()
    axes.plot(grid, curve["log_evidence"], color="black", label="exact log evidence")
    axes.plot(grid, curve["elbo"], color=BLUE, label="ELBO, best factors at each value")
    for number, row in enumerate(path.head(2).itertuples()):
        at, square = float(row.prior_variance), float(row.square)
        bound = bound_of_prior_variance(grid, at, float(row.elbo), square, int(components))
        look: Look = {"color": PALETTE[(1, 2)[number]], "linewidth": 1.2, "linestyle": "--"}
        axes.plot(grid, bound, label=f"bound with the factors of E-step {number + 1}", **look)
    axes.plot(path["prior_variance"], path["elbo"], "o", color=ORANGE, label="E-steps", zorder=3)
    high = curve["log_evidence"].max()
    axes.set(xscale="log", ylim=(high - 5, high + 0.4))
    axes.set_xlabel("prior variance of the means")
    axes.set_ylabel("log evidence and its bounds [nats]")
    legend(figure, axes, columns=2)
    return figure
