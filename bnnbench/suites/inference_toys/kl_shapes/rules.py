"""Rules that check the book's claims about divergences on a run's results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult
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

NUMERICAL_TOLERANCE = 1e-3
"""Largest difference of two computations of the same number, due to the minimiser."""

MAX_LOC_DISTANCE = 0.1
"""Distance from a component within which q is at it, in standard deviations of the component."""

MAX_MASS_OUTSIDE = 0.01
"""Largest mass of a zero-forcing q where p has (almost) none."""

MIN_COMPONENT_MASS = 0.05
"""Smallest mass of a zero-avoiding q on a component of p."""


@dataclass(frozen=True)
class MatchesMoments:
    """Minimising forward KL matches the moments of p."""

    rule: str = (
        "mean and standard deviation of q are within "
        f"{NUMERICAL_TOLERANCE:g} of those of p, for every mixture"
    )

    def check(self, run: KLShapesRun) -> CheckResult:
        differences = [
            abs(difference)
            for _, row in run.best_at(FORWARD).iterrows()
            for p in [mixture_of(row)]
            for difference in (row["loc"] - p.mean, row["scale"] - p.standard_deviation)
        ]
        largest = max(differences)
        evidence = f"largest difference {largest:.1e} over {len(differences)} numbers"
        return largest < NUMERICAL_TOLERANCE, evidence


@dataclass(frozen=True)
class SeeksComponent:
    """Minimising reverse KL selects one component if the components are well separated.

    Attributes:
        by: `mass` for the component with the larger weight, `height` for that with the higher peak.
    """

    by: str

    @property
    def rule(self) -> str:
        which = "larger weight" if self.by == "mass" else "higher peak"
        return (
            f"at the largest separation, the mean of q is within {MAX_LOC_DISTANCE:g} standard "
            f"deviations of the component with the {which}, for every mixture that has one"
        )

    def check(self, run: KLShapesRun) -> CheckResult:
        rows = run.best_at(REVERSE)
        holds, evidence = [], []
        for _, row in rows[rows["separation"] == run.max_separation].iterrows():
            p = mixture_of(row)
            left, right = p.components
            if not np.isclose(self._score(left), self._score(right)):
                expected = max(p.components, key=self._score)
                holds.append(_is_at(expected, row))
                evidence.append(f"{p.name}: mean {row['loc']:.2f}")
        if not holds:
            return None, "no mixture has such a component"
        return all(holds), "; ".join(evidence)

    def _score(self, component: Component) -> float:
        return component.weight if self.by == "mass" else component.weight / component.scale


@dataclass(frozen=True)
class HasOptimumPerComponent:
    """Reverse KL has a local optimum at each component."""

    rule: str = (
        f"at the largest separation, there is a local optimum within {MAX_LOC_DISTANCE:g} standard "
        "deviations of each component, for every mixture"
    )

    def check(self, run: KLShapesRun) -> CheckResult:
        rows = run.fits[run.fits["order"] == REVERSE]
        rows = rows[rows["separation"] == run.max_separation]
        holds, evidence = [], []
        for name, optima in rows.groupby("mixture", sort=False):
            holds.append(
                all(
                    any(_is_at(component, row) for _, row in optima.iterrows())
                    for component in mixture_of(optima.iloc[0]).components
                )
            )
            values = ", ".join(f"{value:.4f}" for value in optima["divergence"])
            evidence.append(f"{name}: KL {values}")
        return all(holds), "; ".join(evidence)


@dataclass(frozen=True)
class ForcesZeros:
    """For orders of at most -1, q is (almost) zero where p is."""

    rule: str = (
        f"at the largest separation, every q of order -1 or less has at most "
        f"{MAX_MASS_OUTSIDE:.0%} of its mass where p is below 1% of its highest density"
    )

    def check(self, run: KLShapesRun) -> CheckResult:
        rows = run.best[run.best["separation"] == run.max_separation]
        forcing = rows.loc[rows["order"] <= REVERSE, "mass_outside"]
        others = rows.loc[rows["order"] >= FORWARD, "mass_outside"]
        evidence = f"at most {forcing.max():.2%}; at least {others.min():.0%} for orders from 1"
        return bool(forcing.max() <= MAX_MASS_OUTSIDE), evidence


@dataclass(frozen=True)
class CoversAllComponents:
    """For orders of at least 1, q covers all components of p."""

    rule: str = (
        f"every q of order 1 or more has at least {MIN_COMPONENT_MASS:.0%} of its mass within two "
        "standard deviations of each component, for every mixture"
    )

    def check(self, run: KLShapesRun) -> CheckResult:
        avoiding = run.best.loc[run.best["order"] >= FORWARD, "min_component_mass"]
        separated = run.best[run.best["separation"] == run.max_separation]
        forcing = separated.loc[separated["order"] <= REVERSE, "min_component_mass"]
        evidence = (
            f"at least {avoiding.min():.1%}; at most {forcing.max():.2%} for orders up to -1 at "
            "the largest separation"
        )
        return bool(avoiding.min() >= MIN_COMPONENT_MASS), evidence


@dataclass(frozen=True)
class HasKLLimits:
    """The alpha-divergences approach the KL divergences at their limits."""

    rule: str = (
        f"mean and standard deviation at orders -{NEAR_LIMIT:g} and {NEAR_LIMIT:g} are within 0.01 "
        "of those of reverse and forward KL, for every mixture"
    )

    def check(self, run: KLShapesRun) -> CheckResult:
        largest = {}
        for limit, order in ((REVERSE, -NEAR_LIMIT), (FORWARD, NEAR_LIMIT)):
            near, exact = (
                run.best_at(o).set_index("mixture")[["loc", "scale"]] for o in (order, limit)
            )
            largest[order_name(limit)] = float((near - exact).abs().max(axis=None))
        evidence = ", ".join(f"{value:.1e} ({name})" for name, value in largest.items())
        return max(largest.values()) < 0.01, f"largest difference {evidence}"


@dataclass(frozen=True)
class WidensWithOrder:
    """The variance of q increases with the order.

    Attributes:
        equal_components: check only mixtures of two components with equal scale and weight.
    """

    equal_components: bool

    @property
    def rule(self) -> str:
        which = "mixture of two equal components" if self.equal_components else "mixture"
        return f"the variance of q never decreases from one order to the next, for every {which}"

    def check(self, run: KLShapesRun) -> CheckResult:
        rows = run.best
        if self.equal_components:
            rows = rows[(rows["weight"] == 0.5) & (rows["component_scale"] == 1)]
        n_mixtures = rows["mixture"].nunique()
        if n_mixtures == 0:
            return None, "no such mixture"
        exceptions = []
        for name, fits in rows.groupby("mixture", sort=False):
            variance = fits.sort_values("order").set_index("order")["scale"] ** 2
            decrease = 1 - variance / variance.cummax()
            if decrease.max() > NUMERICAL_TOLERANCE:
                alpha = decrease.idxmax()
                exceptions.append(
                    f"; {name}: decreases by {decrease.max():.1%} at alpha = {alpha:g}"
                )
        n_increasing = n_mixtures - len(exceptions)
        return not exceptions, f"in {n_increasing} of {n_mixtures} mixtures{''.join(exceptions)}"


@dataclass(frozen=True)
class OnlyHellingerIsSymmetric:
    """Exchanging p and q changes the divergence of every order except 0."""

    rule: str = (
        "exchanging p and q changes the divergence at order 0 by less than 1e-9 for every mixture, "
        "and at every other order by more than 0.1% for some mixture"
    )

    def check(self, run: KLShapesRun) -> CheckResult:
        rows = run.best
        changes = (rows["swapped_divergence"] - rows["divergence"]).abs()
        relative = (changes / rows["divergence"].abs()).where(rows["divergence"] > 1e-6, 0.0)
        symmetric = float(changes[rows["order"] == HELLINGER].max())
        others = relative[rows["order"] != HELLINGER].groupby(rows["order"]).max()
        evidence = f"{symmetric:.0e} at order 0, {others.min():.1%} or more at others"
        return bool(symmetric < 1e-9 and others.min() > 1e-3), evidence


@dataclass(frozen=True)
class FactorVariance:
    """The variance of the mean-field factors compared with that of the marginals.

    Attributes:
        is_exact: whether the claim is that they are equal; otherwise, that the factors' is smaller.
    """

    is_exact: bool

    @property
    def rule(self) -> str:
        relation = "within 1% of" if self.is_exact else "below"
        return (
            f"the variance of the factors that minimise reverse KL is {relation} the marginal's, 1"
        )

    def check(self, run: KLShapesRun) -> CheckResult:
        reverse = value_of(run.answers, "variance of each factor", ORDER_NAMES[REVERSE])
        forward = value_of(run.answers, "variance of each factor", ORDER_NAMES[FORWARD])
        holds = abs(reverse - 1) < 0.01 if self.is_exact else reverse < 1
        correlation = float(run.factorised["correlation"].iloc[0])
        evidence = f"{reverse:.3f} at correlation {correlation:g}; {forward:.3f} for forward KL"
        return bool(holds), evidence


def _is_at(component: Component, row: pd.Series) -> bool:
    return abs(row["loc"] - component.loc) <= MAX_LOC_DISTANCE * component.scale
