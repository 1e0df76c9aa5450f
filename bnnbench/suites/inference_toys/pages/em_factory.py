"""The page of a run of the factory: its figure and claims."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import GREY, MAX_LOG_WIDTH, PALETTE, new_figure
from bnnbench.results.claims.claims import CheckResult, Claims, NotTestable
from bnnbench.results.claims.saved_run import SavedRun, run_reader
from bnnbench.suites.inference_toys import em_factory as experiment
from bnnbench.suites.inference_toys.em_factory import EM, LBFGS, PARAMETERS, PRINTED, RATE
from bnnbench.suites.inference_toys.pages.shared import BOOK, plot_starts

MIN_ERROR = 1e-14
"""Smaller errors are rounding; they are drawn at this value."""

MAX_ITERATION_SHOWN = 25
"""Last iteration in the panels of the parameters."""

LABELS = {
    "beta": "beta",
    "tau_1": "tau, first product",
    "tau_n": "tau, last product",
    "gap": "log-likelihood below\nits maximum [nats]",
    "error": "largest relative error",
}
"""Labels of the panels, by column of the iterates."""

CONVERGES = "converges to beta, tau_1 and tau_n of (2.63)-(2.65) within a relative"

claims = Claims()
read_run = run_reader(
    {
        experiment.ITERATES: ("start", "iteration", *PARAMETERS, "log_likelihood", "error"),
        experiment.COUNTS: ("product", "impure", "faulty"),
    }
)

figures = Figures(read_run)


@figures(
    "First panel: counts of impure materials and malfunctioning (faulty) items by product; hollow "
    "bars are the two hidden counts. Other panels: parameters, log-likelihood and error by "
    "iteration of EM, one line per random start; dots: last iteration. Dashed lines: the "
    "closed-form solution and, in the last panel, the predicted rate of convergence. Dotted lines: "
    "the closed form as printed"
)
def em(run: SavedRun) -> Figure:
    figure, panels = new_figure(MAX_LOG_WIDTH, 8.4, 2, 3)
    _plot_counts(panels[0], run[experiment.COUNTS])
    iterates = run[experiment.ITERATES]
    gap = iterates["log_likelihood"].max() - iterates["log_likelihood"]
    errors = iterates.assign(gap=gap.clip(MIN_ERROR), error=iterates["error"].clip(MIN_ERROR))
    for axes, (column, label) in zip(panels[1:], LABELS.items(), strict=True):
        is_error = column in ("gap", "error")
        plot_starts(axes, errors, column)
        axes.set(ylabel=label, yscale="log" if is_error else "linear")
        if not is_error:
            _plot_closed_forms(axes, run, column)
    _plot_predicted_rate(panels[5], run)
    handles, labels = panels[4].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False)
    return figure


def _plot_counts(axes: Axes, counts: pd.DataFrame) -> None:
    """Draw the counts; bars of the two hidden counts are hollow."""
    bars = []
    for shift, column, colour, hidden in (
        (-0.2, "impure", PALETTE[4], 0), (0.2, "faulty", PALETTE[3], len(counts) - 1),
    ):  # fmt: skip
        faces = [colour if k != hidden else "none" for k in range(len(counts))]
        # Edges of filled bars, or gaps between them, would hide the bars of many products.
        widths = [0.0] * len(counts)
        widths[hidden] = 1.0
        axes.bar(counts["product"] + shift, counts[column], 0.4, color=faces, edgecolor=colour,
                 linewidth=widths)  # fmt: skip
        bars.append(Patch(facecolor=colour, edgecolor=colour, label=column))
    bars.append(Patch(facecolor="none", edgecolor=GREY, label="hidden"))
    top = counts[["impure", "faulty"]].to_numpy().max()
    axes.set(xlabel="product", ylabel="count", ylim=(0, 1.3 * top))
    axes.legend(handles=bars, frameon=False, ncols=3, fontsize="small", loc="upper center")


def _plot_closed_forms(axes: Axes, run: SavedRun, parameter: str) -> None:
    exact = run.answer(parameter, EM)["exact"]
    for value, style in ((run.value(parameter, PRINTED), ":"), (exact, "--")):
        axes.axhline(value, color=GREY, linewidth=1.2, linestyle=style)
    axes.set_xlim(-1, MAX_ITERATION_SHOWN + 1)
    axes.annotate("closed form", (MAX_ITERATION_SHOWN, exact), textcoords="offset points",
                  xytext=(0, 4), ha="right", color=GREY, fontsize="small")  # fmt: skip


def _plot_predicted_rate(axes: Axes, run: SavedRun) -> None:
    """Draw a line that decreases at the rate given by the fraction of missing information."""
    rate = run.answer(RATE, EM)["exact"]
    first = run.rows(experiment.ITERATES, start=0)
    line = 3 * first["error"].iloc[0] * rate ** first["iteration"]
    axes.plot(first["iteration"], np.maximum(line, MIN_ERROR), "--", color=GREY, linewidth=1.2)
    axes.annotate(f"rate {rate:.3f}, the fraction\nof missing information", (0.97, 0.95),
                  ha="right", va="top", xycoords="axes fraction",
                  color=GREY, fontsize="small")  # fmt: skip


@claims(
    "Iterating (2.57)-(2.60) converges to (2.63)-(2.66)",
    source=f"{BOOK}, 2.6.5.1",
    rule=f"{EM} {CONVERGES} 1e-08 from every start",
    approximation=EM,
    tolerance=1e-8,
)
@claims(
    "Maximising the incomplete-data likelihood gives the same estimate",
    source=f"{BOOK}, 2.6.5.1",
    rule=f"{LBFGS} {CONVERGES} 0.0001 from every start",
    approximation=LBFGS,
    tolerance=1e-4,
)
@claims(
    "(2.63)-(2.66) give the maximum as printed, with sums from product 1",
    source=f"{BOOK}, 2.6.5.1",
    rule="beta, tau_1 and tau_n equal those of sums from product 2 within a relative 1e-08",
    approximation=PRINTED,
    tolerance=1e-8,
)
def reaches_maximum(run: SavedRun, approximation: str, tolerance: float) -> CheckResult:
    rows = run.rows(ANSWERS, approximation=approximation)
    errors = (rows["value"] / rows["exact"] - 1).abs()[rows["quantity"].isin(PARAMETERS)]
    beta = run.answer("beta", approximation)
    evidence = f"beta {beta['value']:.6f}, exact {beta['exact']:.6f}; "
    evidence += f"largest relative error {errors.max():.1g}"
    return bool((errors <= tolerance).all()), evidence


@claims(
    "EM converges geometrically, at a rate equal to the fraction of missing information",
    source="Dempster, Laird and Rubin 1977",
    rule="from every start, the error decreases per iteration by a factor within 1 % of the "
    "largest eigenvalue of I - complete^-1 observed information",
)
def converges_geometrically(run: SavedRun) -> CheckResult:
    rows = run.rows(ANSWERS, quantity=RATE).dropna(subset="value")
    if rows.empty:
        raise NotTestable("too few iterations to measure a rate")
    errors = (rows["value"] / rows["exact"] - 1).abs()
    rates = ", ".join(f"{value:.4f}" for value in rows["value"])
    return bool((errors <= 0.01).all()), f"rates {rates}; fraction {rows['exact'].iloc[0]:.4f}"


EXPERIMENT_PAGE = ExperimentPage(
    kind=experiment.EMFactory.kind,
    title="A factory with missing counts",
    caption=(
        "beta: malfunctioning items per impure material. tau_1 and tau_n: rates of impure "
        "materials of the first product, whose impure materials were not counted, and of the last, "
        "whose malfunctioning items were not. Exact: (2.63)-(2.66) with sums over products 2 to "
        "n - 1, and their log-likelihood in nats; as printed, the sums start at 1 and include a "
        "missing count. For the rate of convergence: the largest fraction of missing information."
    ),
    figures=figures,
    statements=claims,
)
