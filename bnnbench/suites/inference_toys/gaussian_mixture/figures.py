"""The figures of a run on the Bayesian mixture."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    ORANGE,
    PALETTE,
    PlotOptions,
    legend,
    new_figure,
)
from bnnbench.results.answers import read_answers, value_of
from bnnbench.suites.inference_toys.gaussian_mixture import names
from bnnbench.suites.inference_toys.gaussian_mixture.model import log_predictive
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import elbo_with_fixed_factors
from bnnbench.suites.inference_toys.saved_tables import exact_of, read_table

DENSITY_ITERATIONS = (0, 1, 5)
"""Iterations whose density is plotted, in addition to the last."""

TRACE_COLUMNS = ("start", "iteration", "elbo", "held_out")


def read_trace(folder: RunFolder, part: str) -> pd.DataFrame:
    """Read the rows of `trace.csv` of one part."""
    trace = read_table(folder, names.TRACE, TRACE_COLUMNS)
    return trace[trace["part"] == part]


def densities_figure(folder: RunFolder) -> Figure:
    """Plot the many points and the predictive density in several iterations of CAVI."""
    points = read_table(folder, names.POINTS, ("point",))
    data = points.loc[points["part"] == names.MANY, "point"].to_numpy()
    trace = read_trace(folder, names.MANY)
    best = trace.loc[trace["elbo"].idxmax(), "start"]
    iterates = trace[trace["start"] == best].set_index("iteration").dropna(axis=1)
    last = len(iterates) - 1
    shown = sorted({t for t in DENSITY_ITERATIONS if t < last} | {last})
    figure, panels = new_figure(3.1 * len(shown), 3.0, len(shown))
    margin = 0.08 * np.ptp(data)
    grid = np.linspace(data.min() - margin, data.max() + margin, 400)
    heights = []
    for axes, iteration in zip(panels, shown, strict=True):
        row = iterates.loc[iteration]
        loc = row.filter(like="loc_").to_numpy(dtype=float)
        variance = row.filter(like="variance_").to_numpy(dtype=float)
        density = np.exp(log_predictive(grid, loc, variance))
        counts, _, _ = axes.hist(data, bins=50, density=True, color="#D9D9D9", label="data")
        heights += [float(np.max(counts)), float(density.max())]
        axes.plot(grid, density, color=BLUE, linewidth=1.8, label="predictive density")
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
    """Plot the ELBO of every start on few and many points, and the held-out density."""
    figure, panels = new_figure(11.5, 3.6, 3)
    answers = read_answers(folder)
    points = read_table(folder, names.POINTS, ("point",))["part"].value_counts()
    few, many = (read_trace(folder, part) for part in (names.FEW, names.MANY))
    exact = exact_of(answers, names.EVIDENCE, names.CAVI, names.FEW_POINTS)
    labellings = value_of(answers, names.LABELLINGS, "K!", names.FEW_POINTS)
    true = value_of(answers, names.HELD_OUT, names.TRUE_MEANS)
    _plot_starts(panels[0], few, "elbo")
    style: PlotOptions = {"linewidth": 1.2}
    lines = [
        panels[0].axhline(exact, color="black", label="exact log evidence", **style),
        panels[0].axhline(exact - labellings, color=GREY, label="exact - log K!", **style),
        panels[2].axhline(true, color="black", label="true means", **style),
    ]
    for line in lines[1:]:
        line.set_linestyle((0, (4, 3)) if line is lines[1] else ":")
    _plot_starts(panels[1], many, "elbo")
    _plot_starts(panels[2], many, "held_out")
    panels[0].set_ylim(few["elbo"].max() - 8, exact + 0.8)
    for axes, column in zip(panels[1:], ("elbo", "held_out"), strict=True):
        final = many.groupby("start")[column].last()
        margin = max(np.ptp(final), 0.1 * abs(final.max()))
        axes.set_ylim(final.max() - 2.5 * margin, final.max() + 0.3 * margin)
    panels[0].set(title=f"{points[names.FEW]} points", ylabel="ELBO [nats]")
    panels[1].set(title=f"{points[names.MANY]} points", ylabel="ELBO [nats]")
    panels[2].set(title="held-out points", ylabel="mean log density [nats]")
    labels = [str(line.get_label()) for line in lines]
    start = panels[0].get_lines()[0]
    figure.legend(
        [start, *lines],
        ["one start of CAVI", *labels],
        loc="outside upper center",
        ncols=4,
        frameon=False,
    )
    return figure


def _plot_starts(axes: Axes, trace: pd.DataFrame, column: str) -> None:
    """Plot one line per start, with a dot at the last iteration."""
    for start, iterates in trace.groupby("start"):
        colour = PALETTE[int(str(start)) % len(PALETTE)]
        axes.plot(iterates["iteration"], iterates[column], color=colour, linewidth=1, alpha=0.9)
        axes.plot(*iterates[["iteration", column]].to_numpy()[-1], "o", color=colour, markersize=4)
    axes.set_xlabel("iteration")


def stochastic_figure(folder: RunFolder) -> Figure:
    """Plot the distance to CAVI's fixed point against passes through the data."""
    table = read_table(folder, names.STOCHASTIC, ("repetition", "passes", "distance"))
    figure, (axes,) = new_figure(6.4, 4.0)
    styles = {
        names.CAVI: ("black", "--"),
        names.DECREASING: (BLUE, "-"),
        names.CONSTANT: (PALETTE[1], "-"),
        names.TOO_FAST: (PALETTE[3], "-"),
    }
    for schedule, (colour, dashes) in styles.items():
        distances = table[table["schedule"] == schedule].groupby("passes")["distance"]
        mean = distances.mean()
        axes.plot(mean.index, mean, color=colour, linestyle=dashes, label=schedule)
        if schedule != names.CAVI:
            low, high = distances.min(), distances.max()
            axes.fill_between(mean.index, low, high, color=colour, alpha=0.15, linewidth=0)
    repetitions = table["repetition"].max() + 1
    axes.set(xscale="log", yscale="log", ylim=(3e-4, None))
    axes.set_title(f"mean and range of {repetitions} repetitions", fontsize="small")
    axes.set_xlabel("passes through the data")
    axes.set_ylabel("distance to CAVI's fixed point")
    legend(figure, axes, columns=2)
    return figure


def prior_variance_figure(folder: RunFolder) -> Figure:
    """Plot evidence and ELBO against the prior variance, with the bounds of variational EM.

    As in the lecture: the bound with the factors of one E-step fixed touches the ELBO there, and
    its maximum is the prior variance of the next E-step.
    """
    curve = read_table(
        folder, names.PRIOR_VARIANCE_CURVE, ("prior_variance", "log_evidence", "elbo")
    )
    path = read_table(
        folder, names.PRIOR_VARIANCE_PATH, ("prior_variance", "elbo", "second_moment")
    )
    components = read_trace(folder, names.FEW).filter(like="loc_").notna().any().sum()
    figure, (axes,) = new_figure(6.8, 4.2)
    grid = curve["prior_variance"].to_numpy()
    axes.plot(grid, curve["log_evidence"], color="black", label="exact log evidence")
    axes.plot(grid, curve["elbo"], color=BLUE, label="ELBO, optimal factors at each value")
    for number, row in enumerate(path.head(2).itertuples()):
        current, moment = float(row.prior_variance), float(row.second_moment)
        bound = elbo_with_fixed_factors(grid, current, float(row.elbo), moment, int(components))
        style: PlotOptions = {"color": PALETTE[(1, 2)[number]], "linewidth": 1.2, "linestyle": "--"}
        axes.plot(grid, bound, label=f"bound with the factors of E-step {number + 1}", **style)
    axes.plot(path["prior_variance"], path["elbo"], "o", color=ORANGE, label="E-steps", zorder=3)
    high = curve["log_evidence"].max()
    axes.set(xscale="log", ylim=(high - 5, high + 0.4))
    axes.set_xlabel("prior variance of the means")
    axes.set_ylabel("log evidence and its bounds [nats]")
    legend(figure, axes, columns=2)
    return figure
