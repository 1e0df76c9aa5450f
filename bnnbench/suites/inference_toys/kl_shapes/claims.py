"""Claims about the shapes that divergences prefer, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.checks import BOOK, combine
from bnnbench.suites.inference_toys.kl_shapes import tables
from bnnbench.suites.inference_toys.kl_shapes.fitting import FORWARD, REVERSE, Component, Mixture

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


def mixture_of(row: pd.Series) -> Mixture:
    """Return the mixture that a row of `fits.csv` was fitted to."""
    return Mixture(*(float(row[name]) for name in ("separation", "weight", "component_scale")))


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
def seeks_component(run: SavedTables, by: str) -> CheckResult:
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
def has_optimum_per_component(run: SavedTables) -> CheckResult:
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
def forces_zeros(run: SavedTables) -> CheckResult:
    rows = _separated(run, rank=0)
    forcing = rows.loc[rows["order"] <= REVERSE, "mass_outside"]
    others = rows.loc[rows["order"] >= FORWARD, "mass_outside"]
    evidence = f"at most {forcing.max():.2%}; at least {others.min():.0%} for orders from 1"
    return bool(forcing.max() <= MAX_MASS_OUTSIDE), evidence


@claims(
    "alpha >= 1 is zero avoiding: q stretches to cover all of p",
    source=f"{BOOK}, 3.2.3.3",
    rule=f"every q of order 1 or more has at least {MIN_COMPONENT_MASS:.0%} of its mass within two "
    "standard deviations of each component, for every mixture",
)
def covers_all_components(run: SavedTables) -> CheckResult:
    rows, separated = run.rows(tables.FITS, rank=0), _separated(run, rank=0)
    avoiding = rows.loc[rows["order"] >= FORWARD, "min_component_mass"]
    forcing = separated.loc[separated["order"] <= REVERSE, "min_component_mass"]
    evidence = f"at least {avoiding.min():.1%}; at most {forcing.max():.2%} for orders up to -1"
    return bool(avoiding.min() >= MIN_COMPONENT_MASS), f"{evidence} at the largest separation"


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
def widens_with_order(run: SavedTables, **components: float) -> CheckResult:
    rows = run.rows(tables.FITS, rank=0, **components)
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
    return not exceptions, f"in {n_increasing} of {n_mixtures} mixtures{''.join(exceptions)}"


def _separated(run: SavedTables, **values: float) -> pd.DataFrame:
    """Return the fits at the largest separation whose columns have these values."""
    return run.rows(tables.FITS, separation=run[tables.FITS]["separation"].max(), **values)


def _is_at(component: Component, row: pd.Series) -> bool:
    return bool(abs(row["loc"] - component.loc) <= MAX_LOC_DISTANCE * component.scale)
