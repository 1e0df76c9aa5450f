"""The page of a run on KL shapes: figures in the style of the book's, and claims."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import BLUE, ORANGE, PALETTE, PlotOptions, legend, new_figure
from bnnbench.results.claims.claims import CheckResult, Claims, NotTestable
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, run_reader
from bnnbench.suites.inference_toys import kl_shapes as experiment
from bnnbench.suites.inference_toys.kl_shapes import (
    FORWARD,
    ORDER_NAMES,
    REVERSE,
    BimodalTarget,
    Component,
    KLShapes,
    log_normal,
)
from bnnbench.suites.inference_toys.pages.shared import BOOK, combine

EXACT: PlotOptions = {"color": BLUE, "linewidth": 1.8}

STYLES: dict[float, PlotOptions] = {
    FORWARD: {"color": PALETTE[2], "linestyle": "--", "linewidth": 1.6},
    REVERSE: {"color": ORANGE, "linestyle": ":", "linewidth": 2.0},
}

MAX_ROWS = 4
"""Maximum number of rows of a figure."""

FIGURE_ORDERS = (-8.0, -1.0, 0.0, 1.0, 8.0)
"""Orders plotted as in the book's Fig. 3.12, if the run has them."""

MAX_DECREASE = 1e-3
"""Relative decrease of a variance that counts as none, due to the minimiser."""

MAX_LOC_DISTANCE = 0.1
"""Distance from a component within which q is at it, in standard deviations of the component."""

MAX_MASS_OUTSIDE = 0.01
"""Largest mass of a zero-forcing q where p has (almost) none."""

MIN_COMPONENT_MASS = 0.05
"""Smallest mass of a zero-avoiding q on a component of p."""

MEAN_IS_AT = (
    f"at the largest separation, the mean of q is within {MAX_LOC_DISTANCE:g} standard deviations "
    "of the component with the"
)

claims = Claims()
read_run = run_reader(
    {
        # The local optima, one row per mixture, order and optimum; rank 0 is the best.
        experiment.FITS: ("separation", "weight", "component_scale", "order", "rank", "loc",
               "scale", "divergence", "mass_outside", "min_component_mass"),
        # The variance of the optimal factors, one row per direction of the KL divergence.
        experiment.FACTORISED: ("correlation", "variance"),
    }
)  # fmt: skip

figures = Figures(read_run)


@figures(
    "Mixture p (solid) and the Gaussian q that minimises forward KL (dashed) or reverse KL "
    "(dotted), one row per kind of mixture and one column per separation of the components. Thin "
    "dotted lines: other local optima of reverse KL"
)
def directions(run: SavedRun) -> Figure:
    """Like the book's Fig. 3.9."""
    kinds, separations = _kinds(run), _first_middle_last(run)
    columns = len(separations)
    figure, panels = new_figure(2.9 * columns, 1.6 * len(kinds) + 0.5, columns, len(kinds))
    for axes, (kind, separation) in zip(panels, product(kinds, separations), strict=True):
        p = BimodalTarget(separation, *kind)
        grid = _draw_mixture(axes, p)
        for order, style in STYLES.items():
            (best,) = _densities(run, grid, p, order, rank=0)
            axes.plot(grid, best, label=f"best q, {ORDER_NAMES[order]}", **style)
        thin = {**STYLES[REVERSE], "linewidth": 1}
        for other in _densities(run, grid, p, REVERSE)[1:]:
            axes.plot(grid, other, label="other local optima of reverse KL", **thin)
        axes.set_title(p.name, fontsize="small")
        axes.set_ylim(0, None)
    _label_edges(panels, columns, "density")
    legend(figure, panels[-1])
    return figure


@figures(
    "Density of a mixture p (filled) and of the Gaussian q that minimises the alpha-divergence "
    "(orange line), one row per mixture and one column per order alpha"
)
def orders(run: SavedRun) -> Figure:
    """Like the book's Fig. 3.12."""
    kinds, separations = _kinds(run), _first_middle_last(run)
    orders = [order for order in FIGURE_ORDERS if len(run.rows(experiment.FITS, order=order))]
    figure, panels = new_figure(2.0 * len(orders), 1.5 * len(kinds) + 0.5, len(orders), len(kinds))
    for axes, (kind, order) in zip(panels, product(kinds, orders), strict=True):
        p = BimodalTarget(separations[len(separations) // 2], *kind)
        grid = _draw_mixture(axes, p, fill=True)
        (best,) = _densities(run, grid, p, order, rank=0)
        axes.plot(grid, best, color=ORANGE, linewidth=1.6, label="best q")
        axes.set_ylabel("density\n" + p.name.replace(" + ", "\n+ "), fontsize="small")
        axes.set_ylim(0, None)
    for axes, order in zip(panels, orders, strict=False):
        axes.set_title(f"alpha = {order:g}\n{ORDER_NAMES.get(order, '')}", fontsize="medium")
    _label_edges(panels, len(orders))
    legend(figure, panels[-1])
    return figure


@figures(
    "Ellipses of 1 and 2 standard deviations of a correlated Gaussian p and its best factorised "
    "approximations q"
)
def factorised(run: SavedRun) -> Figure:
    """Like the book's Fig. 3.7."""
    figure, (axes,) = new_figure(4.6, 4.2)
    rows = run[experiment.FACTORISED].set_index("divergence")
    correlation = float(rows["correlation"].iloc[0])
    ellipses = [((1 + correlation) ** 0.5, (1 - correlation) ** 0.5, "p", EXACT)]
    for order, style in STYLES.items():
        deviation = float(rows["variance"][ORDER_NAMES[order]]) ** 0.5
        ellipses.append((deviation, deviation, f"best factorised q, {ORDER_NAMES[order]}", style))
    for multiple, (major, minor, name, style) in product((1, 2), ellipses):
        size = (2 * multiple * major, 2 * multiple * minor)
        label = name if multiple == 2 else "_inner"
        axes.add_patch(Ellipse((0, 0), *size, angle=45.0, fill=False, label=label, **style))
    axes.set(xlim=(-3, 3), ylim=(-3, 4.6), xlabel="$z_1$", ylabel="$z_2$", aspect="equal")
    axes.set_title(f"correlation {correlation:g}", fontsize="medium")
    axes.legend(loc="upper left", fontsize="small", frameon=False)
    return figure


def _draw_mixture(axes: Axes, p: BimodalTarget, fill: bool = False) -> np.ndarray:
    """Draw p and return the grid of its panel."""
    half_width = p.separation + 3.3 * p.max_scale
    grid = np.linspace(-half_width, half_width, 400)
    density = np.exp(p.log_density(grid))
    axes.plot(grid, density, label="p", **EXACT)
    if fill:
        axes.fill_between(grid, density, color=BLUE, alpha=0.15, linewidth=0)
    return grid


def _label_edges(panels: list[Axes], columns: int, ylabel: str | None = None) -> None:
    """Label the axes of a grid of panels at its left and its lower edge only."""
    for k, axes in enumerate(panels):
        axes.set_xlabel("x" if k >= len(panels) - columns else "")
        axes.set_ylabel("" if k % columns else ylabel or axes.get_ylabel())


def _densities(
    run: SavedRun, grid: np.ndarray, p: BimodalTarget, order: float, **values: int
) -> list[np.ndarray]:
    """Return the density of every q fitted to p, the best first."""
    rows = run.rows(experiment.FITS, mixture=p.name, order=order, **values)
    fits = zip(rows["loc"], rows["scale"], strict=True)
    return [np.exp(log_normal(grid, loc, scale)) for loc, scale in fits]


def _kinds(run: SavedRun) -> list[tuple[float, float]]:
    """Return weight and scale of the first kinds of mixtures, ignoring separations."""
    kinds = run[experiment.FITS][["weight", "component_scale"]].drop_duplicates()[:MAX_ROWS]
    return list(kinds.itertuples(index=False, name=None))


def _first_middle_last(run: SavedRun) -> list[float]:
    """Return three separations, without duplicates."""
    values = sorted(run[experiment.FITS]["separation"].unique().tolist())
    return list(dict.fromkeys([values[0], values[len(values) // 2], values[-1]]))


def mixture_of(row: pd.Series) -> BimodalTarget:
    """Return the mixture that a row of `fits.csv` was fitted to."""
    return BimodalTarget(row["separation"], row["weight"], row["component_scale"])


@claims(
    "As the modes move apart, reverse KL selects the most probable mode (the component with the "
    "most mass)",
    source=f"{BOOK}, Fig. 3.9",
    rule=f"{MEAN_IS_AT} larger weight, for every mixture that has one",
    by="mass",
)
@claims(
    "As the modes move apart, reverse KL selects the mode of the highest density",
    source=f"{BOOK}, Fig. 3.9",
    rule=f"{MEAN_IS_AT} higher peak, for every mixture that has one",
    by="height",
)
def seeks_component(run: SavedRun, by: str) -> CheckResult:
    def score(component: Component) -> float:
        return component.weight if by == "mass" else component.weight / component.scale

    results = []
    for _, row in _separated(run, rank=0, order=REVERSE).iterrows():
        p = mixture_of(row)
        left, right = map(score, p.components)
        if not np.isclose(left, right):
            is_at = _is_at(max(p.components, key=score), row)
            results.append((is_at, f"{p.name}: mean {row['loc']:.2f}"))
    if not results:
        raise NotTestable("no mixture has such a component")
    return combine(results)


@claims(
    "Reverse KL has a local optimum for each mode",
    source=f"{BOOK}, Fig. 3.9 shows only the best one",
    rule=f"at the largest separation, there is a local optimum within {MAX_LOC_DISTANCE:g} "
    "standard deviations of each component, for every mixture",
)
def has_optimum_per_component(run: SavedRun) -> CheckResult:
    results = []
    for name, optima in _separated(run, order=REVERSE).groupby("mixture", sort=False):
        components = mixture_of(optima.iloc[0]).components
        holds = all(any(_is_at(c, row) for _, row in optima.iterrows()) for c in components)
        values = ", ".join(f"{value:.4f}" for value in optima["divergence"])
        results.append((holds, f"{name}: KL {values}"))
    return combine(results)


@claims(
    "alpha <= -1 is zero forcing",
    source=f"{BOOK}, 3.2.3.3",
    rule="at the largest separation, every q of order -1 or less has at most "
    f"{MAX_MASS_OUTSIDE:.0%} of its mass where p is below 1% of its highest density",
)
def forces_zeros(run: SavedRun) -> CheckResult:
    rows = _separated(run, rank=0)
    forcing = rows.loc[rows["order"] <= REVERSE, "mass_outside"]
    others = rows.loc[rows["order"] >= FORWARD, "mass_outside"]
    evidence = f"mass at most {forcing.max():.2%}; for orders from 1 at least {others.min():.0%}"
    return bool(forcing.max() <= MAX_MASS_OUTSIDE), evidence


@claims(
    "alpha >= 1 is zero avoiding: q stretches to cover all of p",
    source=f"{BOOK}, 3.2.3.3",
    rule=f"every q of order 1 or more has at least {MIN_COMPONENT_MASS:.0%} of its mass within two "
    "standard deviations of each component, for every mixture",
)
def covers_all_components(run: SavedRun) -> CheckResult:
    rows, separated = run.rows(experiment.FITS, rank=0), _separated(run, rank=0)
    avoiding = rows.loc[rows["order"] >= FORWARD, "min_component_mass"]
    forcing = separated.loc[separated["order"] <= REVERSE, "min_component_mass"]
    evidence = f"mass at least {avoiding.min():.1%}; for orders up to -1 at the largest separation "
    evidence += f"at most {forcing.max():.2%}"
    return bool(avoiding.min() >= MIN_COMPONENT_MASS), evidence


@claims(
    "For two equal components, the width of q increases with alpha",
    source=f"{BOOK}, Fig. 3.12",
    rule="the variance of q never decreases from one order to the next, for every mixture of two "
    "equal components",
    weight=0.5,
    component_scale=1,
)
@claims(
    "For any two components, the width of q increases with alpha",
    source=f"{BOOK}, Fig. 3.12",
    rule="the variance of q never decreases from one order to the next, for every mixture",
)
def widens_with_order(run: SavedRun, **components: float) -> CheckResult:
    rows = run.rows(experiment.FITS, rank=0, **components)
    n_mixtures = rows["mixture"].nunique()
    if n_mixtures == 0:
        raise NotTestable("no such mixture")
    exceptions = []
    for name, fits in rows.groupby("mixture", sort=False):
        variance = fits.sort_values("order").set_index("order")["scale"] ** 2
        decrease = 1 - variance / variance.cummax()
        if decrease.max() > MAX_DECREASE:
            alpha = decrease.idxmax()
            exceptions.append(f"; {name}: decreases by {decrease.max():.1%} at alpha = {alpha:g}")
    n_increasing = n_mixtures - len(exceptions)
    evidence = f"increases in {n_increasing} of {n_mixtures} mixtures{''.join(exceptions)}"
    return not exceptions, evidence


def _separated(run: SavedRun, **values: float) -> pd.DataFrame:
    """Return the fits at the largest separation whose columns have these values."""
    return run.rows(experiment.FITS, separation=run[experiment.FITS]["separation"].max(), **values)


def _is_at(component: Component, row: pd.Series) -> bool:
    return bool(abs(row["loc"] - component.loc) <= MAX_LOC_DISTANCE * component.scale)


EXPERIMENT_PAGE = ExperimentPage(
    kind=KLShapes.kind,
    title="The Gaussian that minimises each divergence",
    caption="The best Gaussian q for a mixture p, by numerical minimisation. Exact: the moments of "
    "p, which forward KL matches, and closed forms for the correlated pair. If two optima are "
    "equally good, the table shows the one with the larger mean. Orders use the book's convention, "
    "alpha = 2 a - 1 for the order a of the GVI thesis.",
    figures=figures,
    statements=claims,
    settings=SourceSettings(grids=("separations", "weights", "scales", "orders")),
)
