"""The figures and the page of a run of the conjugate pairs."""

from __future__ import annotations

from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import PALETTE, PlotOptions, legend, new_figure
from bnnbench.results.answers import ANSWERS
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.conjugate_pairs import model, tables
from bnnbench.suites.inference_toys.conjugate_pairs.claims import claims
from bnnbench.suites.inference_toys.conjugate_pairs.experiment import ConjugatePairs
from bnnbench.suites.inference_toys.maths import normal_density

PARAMETERS = {model.MeanPair.name: "mean", model.PrecisionPair.name: "precision"}
"""Labels of the parameter of each pair."""

CURVES: dict[str, PlotOptions] = {
    "prior": {"color": PALETTE[1], "linestyle": "--"},
    "likelihood": {"color": PALETTE[0], "linestyle": "-."},
    "posterior": {"color": PALETTE[5]},
}

ESTIMATES = {model.MLE: PALETTE[0], model.MAP: PALETTE[5]}
"""Colours of the vertical lines."""

LOSSES = {
    "quadratic": ("quadratic loss, minimised by the mean", PALETTE[0]),
    "absolute": ("absolute loss, minimised by the median", PALETTE[2]),
    "zero_one": ("0-1 loss, minimised by the mode", PALETTE[3]),
}

figures = Figures(tables.read_run)


@figures(
    "Prior, likelihood (scaled to a density) and posterior of a normal mean (top) and a precision "
    "(bottom), one column per number of observations. Dotted vertical lines: maximum likelihood "
    "(MLE) and maximum a posteriori (MAP) estimates. As printed: the posterior by (2.38) and "
    "(2.39) as printed, cut off at the top if it is too narrow"
)
def posteriors(run: SavedTables) -> Figure:
    """Like Fig. 2.4."""
    sizes = sorted(run[tables.DENSITIES]["observations"].unique())
    figure, panels = new_figure(2.9 * len(sizes) + 0.6, 5.6, len(sizes), 2)
    for axes, (pair, size) in zip(panels, product(PARAMETERS, sizes), strict=True):
        _draw_densities(axes, run, pair, size)
    legend(figure, panels, 6)
    return figure


def _draw_densities(axes: Axes, run: SavedTables, pair: str, size: int) -> None:
    rows = run.rows(tables.DENSITIES, pair=pair, observations=size)
    for name, options in CURVES.items():
        axes.plot(rows["value"], rows[name], label=name, linewidth=1.6, **options)
    low, high = rows["value"].iloc[0], rows["value"].iloc[-1]
    answers = run.rows(ANSWERS, setting=tables.setting(size))
    values = answers.set_index(["quantity", "approximation"])["value"]
    for estimate, colour in ESTIMATES.items():
        value = values[f"{pair}: {estimate}", model.CLOSED_FORM]
        if low <= value <= high:
            axes.axvline(value, label=estimate, linewidth=1.6, color=colour, linestyle=":")
    if (f"{pair}: {model.MEAN}", model.AS_PRINTED) in values:
        moments = (
            values[f"{pair}: {name}", model.AS_PRINTED] for name in (model.MEAN, model.SCALE)
        )
        density = normal_density(rows["value"], *moments)
        axes.plot(rows["value"], density, label="as printed", color=PALETTE[3])
    # The prior is left out because it may be infinite at 0.
    top = rows[["likelihood", "posterior"]].to_numpy().max()
    axes.set(xlim=(low, high), ylim=(0, 1.1 * top if top > 0 else 1), xlabel=PARAMETERS[pair])
    axes.set(ylabel="density", title=tables.setting(size))


@figures(
    "Expected posterior loss against the estimate, scaled to the range 0 to 1, one line per loss. "
    "Dotted vertical lines: the estimate that minimises each loss"
)
def risks(run: SavedTables) -> Figure:
    """Show the smallest number of observations, whose posteriors are the most skewed."""
    size = run[tables.RISKS]["observations"].min()
    figure, panels = new_figure(9.5, 3.8, 2)
    for axes, pair in zip(panels, PARAMETERS, strict=True):
        rows = run.rows(tables.RISKS, pair=pair, observations=size)
        decisions = run.rows(tables.DECISIONS, pair=pair, observations=size).set_index("loss")
        for loss, (label, colour) in LOSSES.items():
            risk = rows[loss] - rows[loss].min()
            axes.plot(rows["value"], risk / risk.max(), color=colour, label=label, linewidth=1.6)
            estimate = decisions.loc[loss, "estimate"]
            axes.axvline(estimate, color=colour, linestyle=":", linewidth=1.2)
        axes.set(xlabel=f"estimate of the {PARAMETERS[pair]}", ylabel="expected loss, scaled")
        axes.set_title(f"{pair}, {tables.setting(size)}")
    legend(figure, panels[0], 3)
    return figure


EXPERIMENT_PAGE = ExperimentPage(
    kind=ConjugatePairs.kind,
    title="Conjugate pairs",
    caption="Estimates in the units of the observations (precision: one over their square), log "
    "evidence in nats. Exact values come from quadrature and numerical optimisation, without "
    "conjugacy. Pseudo-observations replace the Gamma prior. The closed form takes (2.38) as one "
    "over the posterior variance and includes two variances missing in (2.39); as printed: both "
    "equations as the book prints them.",
    figures=figures,
    statements=claims,
)
