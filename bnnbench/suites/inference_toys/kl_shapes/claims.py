"""Claims about the shapes that divergences prefer, checked on the saved tables of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult, Claims, NotTestable
from bnnbench.suites.inference_toys.checks import combine
from bnnbench.suites.inference_toys.kl_shapes.mixture import Component
from bnnbench.suites.inference_toys.kl_shapes.names import (
    FORWARD,
    HELLINGER,
    NEAR_LIMIT,
    ORDER_NAMES,
    REVERSE,
    order_name,
)
from bnnbench.suites.inference_toys.kl_shapes.saved_run import KLShapesRun, mixture_of
from bnnbench.suites.inference_toys.sources import BOOK

NUMERICAL_TOLERANCE = 1e-3
"""Largest difference of two computations of the same number, due to the minimiser."""

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
FACTOR_VARIANCE = "the variance of the factors that minimise reverse KL is"

claims = Claims()


@claims(
    "Forward KL strives for the global average: it matches the moments of p",
    source=f"{BOOK}, 3.2.2.1, Fig. 3.9, eq. 3.40",
    rule=f"mean and standard deviation of q are within {NUMERICAL_TOLERANCE:g} of those of p, for "
    "every mixture",
)
def matches_moments(run: KLShapesRun) -> CheckResult:
    differences = [
        abs(difference)
        for _, row in run.best_at(FORWARD).iterrows()
        for p in [mixture_of(row)]
        for difference in (row["loc"] - p.mean, row["scale"] - p.standard_deviation)
    ]
    largest = max(differences)
    evidence = f"largest difference {largest:.1e} over {len(differences)} numbers"
    return largest < NUMERICAL_TOLERANCE, evidence


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
def seeks_component(run: KLShapesRun, by: str) -> CheckResult:
    def score(component: Component) -> float:
        return component.weight if by == "mass" else component.weight / component.scale

    rows = run.best_at(REVERSE)
    results = []
    for _, row in rows[rows["separation"] == run.max_separation].iterrows():
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
def has_optimum_per_component(run: KLShapesRun) -> CheckResult:
    at_order = run.fits["order"] == REVERSE
    rows = run.fits[at_order & (run.fits["separation"] == run.max_separation)]
    results = []
    for name, optima in rows.groupby("mixture", sort=False):
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
def forces_zeros(run: KLShapesRun) -> CheckResult:
    rows = run.best[run.best["separation"] == run.max_separation]
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
def covers_all_components(run: KLShapesRun) -> CheckResult:
    avoiding = run.best.loc[run.best["order"] >= FORWARD, "min_component_mass"]
    separated = run.best[run.best["separation"] == run.max_separation]
    forcing = separated.loc[separated["order"] <= REVERSE, "min_component_mass"]
    evidence = f"at least {avoiding.min():.1%}; at most {forcing.max():.2%} for orders up to -1"
    return bool(avoiding.min() >= MIN_COMPONENT_MASS), f"{evidence} at the largest separation"


@claims(
    "The limits of the alpha-divergences are reverse KL at alpha = -1 and forward KL at 1",
    source=f"{BOOK}, 3.2.3.3",
    rule=f"mean and standard deviation at orders -{NEAR_LIMIT:g} and {NEAR_LIMIT:g} are within "
    "0.01 of those of reverse and forward KL, for every mixture",
)
def has_kl_limits(run: KLShapesRun) -> CheckResult:
    largest = {}
    for limit, order in ((REVERSE, -NEAR_LIMIT), (FORWARD, NEAR_LIMIT)):
        near, exact = (
            run.best_at(o).set_index("mixture")[["loc", "scale"]] for o in (order, limit)
        )
        largest[order_name(limit)] = float((near - exact).abs().max(axis=None))
    evidence = ", ".join(f"{value:.1e} ({name})" for name, value in largest.items())
    return max(largest.values()) < 0.01, f"largest difference {evidence}"


@claims(
    "For two equal components, the width of q increases with alpha",
    source=f"{BOOK}, Fig. 3.12",
    rule="the variance of q never decreases from one order to the next, for every mixture of two "
    "equal components",
    equal_components=True,
)
@claims(
    "For any two components, the width of q increases with alpha",
    source=f"{BOOK}, Fig. 3.12",
    rule="the variance of q never decreases from one order to the next, for every mixture",
)
def widens_with_order(run: KLShapesRun, equal_components: bool = False) -> CheckResult:
    rows = run.best
    if equal_components:
        rows = rows[(rows["weight"] == 0.5) & (rows["component_scale"] == 1)]
    n_mixtures = rows["mixture"].nunique()
    if n_mixtures == 0:
        raise NotTestable("no such mixture")
    exceptions = []
    for name, fits in rows.groupby("mixture", sort=False):
        variance = fits.sort_values("order").set_index("order")["scale"] ** 2
        decrease = 1 - variance / variance.cummax()
        if decrease.max() > NUMERICAL_TOLERANCE:
            alpha = decrease.idxmax()
            exceptions.append(f"; {name}: decreases by {decrease.max():.1%} at alpha = {alpha:g}")
    n_increasing = n_mixtures - len(exceptions)
    return not exceptions, f"in {n_increasing} of {n_mixtures} mixtures{''.join(exceptions)}"


@claims(
    "alpha = 0 (Hellinger) is the only symmetric alpha-divergence",
    source=f"{BOOK}, 3.2.4.2",
    rule="exchanging p and q changes the divergence at order 0 by less than 1e-9 for every "
    "mixture, and at every other order by more than 0.1% for some mixture",
)
def only_hellinger_is_symmetric(run: KLShapesRun) -> CheckResult:
    rows = run.best
    changes = (rows["swapped_divergence"] - rows["divergence"]).abs()
    relative = (changes / rows["divergence"].abs()).where(rows["divergence"] > 1e-6, 0.0)
    symmetric = float(changes[rows["order"] == HELLINGER].max())
    others = relative[rows["order"] != HELLINGER].groupby(rows["order"]).max()
    evidence = f"{symmetric:.0e} at order 0, {others.min():.1%} or more at others"
    return bool(symmetric < 1e-9 and others.min() > 1e-3), evidence


@claims(
    "Mean field underestimates the variance",
    source=f"{BOOK}, 3.2.1.6",
    rule=f"{FACTOR_VARIANCE} below the marginal's, 1",
    is_exact=False,
)
@claims(
    "Mean field captures any marginal density",
    source=f"{BOOK}, 3.2.1.3, about the optimum, not the family",
    rule=f"{FACTOR_VARIANCE} within 1% of the marginal's, 1",
    is_exact=True,
)
def factor_variance(run: KLShapesRun, is_exact: bool) -> CheckResult:
    reverse = value_of(run.answers, "variance of each factor", ORDER_NAMES[REVERSE])
    forward = value_of(run.answers, "variance of each factor", ORDER_NAMES[FORWARD])
    holds = abs(reverse - 1) < 0.01 if is_exact else reverse < 1
    correlation = float(run.factorised["correlation"].iloc[0])
    return holds, f"{reverse:.3f} at correlation {correlation:g}; {forward:.3f} for forward KL"


def _is_at(component: Component, row: pd.Series) -> bool:
    return bool(abs(row["loc"] - component.loc) <= MAX_LOC_DISTANCE * component.scale)
