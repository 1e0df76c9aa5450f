"""The page of a run on the Bayesian mixture."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.gaussian_mixture import tables
from bnnbench.suites.inference_toys.gaussian_mixture.claims import claims
from bnnbench.suites.inference_toys.gaussian_mixture.variational import elbo_with_fixed_factors
from bnnbench.suites.inference_toys.start_plots import plot_starts

SCHEDULE_STYLES = {
    tables.CAVI: ("black", "--"),
    tables.DECREASING: (BLUE, "-"),
    tables.CONSTANT: (PALETTE[1], "-"),
    tables.TOO_FAST: (PALETTE[3], "-"),
}

figures = Figures(tables.read_run)


@figures(
    "ELBO and mean log density of held-out points by iteration of CAVI, one line per random start; "
    "dots: last iteration. Black line: exact log evidence; dashed line: the same minus log K!, "
    "since each start finds one of K! equivalent modes; dotted line: log density under the true "
    "means"
)
def starts(run: SavedTables) -> Figure:
    figure, panels = new_figure(11.5, 3.6, 3)
    panel_columns = (
        (tables.FEW, "few", "elbo"),
        (tables.MANY, "many", "elbo"),
        ("held-out points", "many", "held_out"),
    )
    for axes, (title, part, column) in zip(panels, panel_columns, strict=True):
        trace = run.rows(tables.TRACE, part=part)
        plot_starts(axes, trace, column)
        ends = trace.groupby("start")[column].last()
        margin = max(np.ptp(ends), 0.1 * abs(ends.max()))
        axes.set_ylim(ends.max() - 2.5 * margin, ends.max() + 0.3 * margin)
        axes.set(title=title, ylabel="ELBO [nats]")
    panels[2].set_ylabel("mean log density [nats]")
    exact = run.answer(tables.EVIDENCE, tables.CAVI, tables.FEW)["exact"]
    one_mode = exact - run.value(tables.LABELLINGS, "K!")
    true = run.value(tables.HELD_OUT, "true means")
    panels[0].set_ylim(one_mode - 8, exact + 0.8)
    lines = {
        "one start of CAVI": panels[0].get_lines()[0],
        "exact log evidence": panels[0].axhline(exact, color="black", linewidth=1.2),
        "exact - log K!": panels[0].axhline(one_mode, color=GREY, linewidth=1.2, linestyle="--"),
        "true means": panels[2].axhline(true, color="black", linewidth=1.2, linestyle=":"),
    }
    figure.legend(lines.values(), lines, loc="outside upper center", ncols=4, frameon=False)
    return figure


@figures(
    "Root mean square distance of the component means to the fixed point of CAVI, against passes "
    "through the data. Lines and bands: mean and range over repetitions of stochastic VI; dashed "
    "line: CAVI"
)
def stochastic(run: SavedTables) -> Figure:
    figure, (axes,) = new_figure(6.4, 4.0)
    for schedule, (colour, dashes) in SCHEDULE_STYLES.items():
        rows = run.rows(tables.STOCHASTIC, schedule=schedule)
        band = rows.groupby("passes")["distance"].agg(["mean", "min", "max"])
        axes.plot(band.index, band["mean"], color=colour, linestyle=dashes, label=schedule)
        axes.fill_between(band.index, band["min"], band["max"], color=colour, alpha=0.15, lw=0)
    repetitions = run[tables.STOCHASTIC]["repetition"].max() + 1
    axes.set(xscale="log", yscale="log", ylim=(3e-4, None))
    axes.set_title(f"mean and range of {repetitions} repetitions", fontsize="small")
    axes.set(xlabel="passes through the data", ylabel="distance to CAVI's fixed point")
    legend(figure, axes, columns=2)
    return figure


@figures(
    "Exact log evidence and ELBO against the prior variance of the component means. Dots: E-steps "
    "of variational EM; dashed lines: bounds with the factors of the first two E-steps fixed, each "
    "maximised by the next prior variance"
)
def prior_variance(run: SavedTables) -> Figure:
    curve, path = run[tables.CURVE], run[tables.PATH]
    components = path["components"].iloc[0]
    figure, (axes,) = new_figure(6.8, 4.2)
    grid = curve["prior_variance"].to_numpy()
    axes.plot(grid, curve["log_evidence"], color="black", label="exact log evidence")
    axes.plot(grid, curve["elbo"], color=BLUE, label="ELBO, optimal factors at each value")
    e_steps = path[["prior_variance", "elbo", "second_moment"]].head(2).to_numpy()
    for number, (current, elbo, moment) in enumerate(e_steps, start=1):
        bound = elbo_with_fixed_factors(grid, current, elbo, moment, components)
        label = f"bound with the factors of E-step {number}"
        axes.plot(grid, bound, "--", color=PALETTE[number], linewidth=1.2, label=label)
    axes.plot(path["prior_variance"], path["elbo"], "o", color=ORANGE, label="E-steps", zorder=3)
    high = curve["log_evidence"].max()
    axes.set(xscale="log", ylim=(high - 5, high + 0.4))
    axes.set(xlabel="prior variance of the means", ylabel="log evidence and its bounds [nats]")
    legend(figure, axes, columns=2)
    return figure


EXPERIMENT_PAGE = ExperimentPage(
    kind=tables.KIND,
    title="Bayesian mixture of Gaussians",
    caption=(
        "CAVI and variational EM: the start with the highest ELBO, which approximates the log "
        "evidence. Few points: exact values by a sum over all assignments. Held-out: mean over new "
        "points. Stochastic VI: mean ± standard error over repetitions; distance is the root mean "
        "square over the means of the components, one pass is N points."
    ),
    figures=figures,
    statements=claims,
)
