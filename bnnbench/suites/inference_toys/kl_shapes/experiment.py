"""Gaussians fitted to mixtures by alpha-divergences, and factorised ones to a correlated pair.

Book, sections 3.2.1.3, 3.2.2.1 and 3.2.3.3, Figs. 3.5, 3.7, 3.9 and 3.12. The book draws these
figures and prints no numbers; the mixtures here are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np

from bnnbench.checks import check_between, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.kl_shapes.correlated import (
    CorrelatedPair,
    Factorised,
    coordinate_ascent,
    fit_factorised,
    forward_kl,
    reverse_kl,
)
from bnnbench.suites.inference_toys.kl_shapes.fitting import (
    Fit,
    divergence,
    local_optima,
    mass_outside,
    min_component_mass,
)
from bnnbench.suites.inference_toys.kl_shapes.mixture import Mixture
from bnnbench.suites.inference_toys.kl_shapes.names import (
    COORDINATE_ASCENT,
    FACTORISED,
    FITS,
    FORWARD,
    HELLINGER,
    KIND,
    NEAR_LIMIT,
    REVERSE,
    order_name,
)
from bnnbench.types import UserError

PAIR = "correlated-pair"
"""Name of the unit with the correlated pair; all others are mixtures."""

START = (-1.6, 1.6)
"""Initial means of coordinate ascent: across the ridge, where convergence is slowest."""


@dataclass(frozen=True, kw_only=True)
class KLShapes(Experiment):
    """Fits a Gaussian q to each mixture p by each divergence, with all local optima.

    The mixtures are `weight N(-separation, 1) + (1 - weight) N(separation, scale^2)`, in all
    combinations. The experiment is deterministic.

    Attributes:
        separations: distances of the components from zero, at least 0 and below 8.
        weights: weights of the left component, between 0 and 1.
        scales: standard deviations of the right component, at least 0.25 and below 10.
        orders: orders of the alpha-divergences in the book's convention, between -10 and 10;
            -1, 0, 1 and two orders close to KL are always included.
        correlation: correlation of the pair of variables, between 0 and 1.
        sweeps: sweeps of coordinate ascent over the pair, at least 2.
    """

    separations: tuple[float, ...]
    weights: tuple[float, ...]
    scales: tuple[float, ...]
    orders: tuple[float, ...]
    correlation: float
    sweeps: int
    kind: ClassVar[str] = KIND
    unit_noun: ClassVar[str] = "shape"
    step_noun: ClassVar[str] = "shapes"

    def check(self) -> None:
        for name in ("separations", "weights", "scales", "orders"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not values:
                raise UserError(
                    f"experiment.{name} must be a non-empty list of numbers, not {values!r}.",
                    setting=f"experiment.{name}",
                    code="not_a_list",
                )
        for value in self.separations:
            check_between("experiment.separations", value, 0, 8, low_included=True)
        for value in self.weights:
            check_between("experiment.weights", value, 0, 1)
        for value in self.scales:
            check_between("experiment.scales", value, 0.25, 10, low_included=True)
        for value in self.orders:
            check_between("experiment.orders", value, -10, 10)
        check_between("experiment.correlation", self.correlation, 0, 1)
        check_int("experiment.sweeps", self.sweeps, minimum=2)

    @property
    def title(self) -> str:
        return "KL shapes"

    @property
    def mixtures(self) -> tuple[Mixture, ...]:
        """All mixtures, in the order of their units."""
        settings = product(self.weights, self.scales, self.separations)
        return tuple(Mixture(separation, weight, scale) for weight, scale, separation in settings)

    def in_answers(self, p: Mixture) -> bool:
        """Return whether a mixture is in the answers: the first kind, others if well separated."""
        first = (p.weight, p.scale) == (self.weights[0], self.scales[0])
        gaussian = p.separation == 0 and p.scale == 1
        return not gaussian and (first or p.separation == max(self.separations))

    @property
    def fitted_orders(self) -> tuple[float, ...]:
        """All orders, increasing."""
        return tuple(sorted({*self.orders, REVERSE, -NEAR_LIMIT, HELLINGER, NEAR_LIMIT, FORWARD}))

    def units(self) -> tuple[str, ...]:
        return (*(f"mixture-{k}" for k in range(len(self.mixtures))), PAIR)

    def path_parts(self) -> tuple[str, ...]:
        return ("mixtures",)

    def metadata(self) -> dict[str, Any]:
        return {"mixtures": len(self.mixtures), "correlation": self.correlation}

    def run(self, unit: str, store: UnitStore) -> None:
        if unit == PAIR:
            store.save(unit, pair_tables(CorrelatedPair(self.correlation), self.sweeps), {})
            return
        p = self.mixtures[int(unit.split("-")[1])]
        fits = {order: local_optima(p, order) for order in self.fitted_orders}
        rows = [
            fit_row(p, fit, rank) for optima in fits.values() for rank, fit in enumerate(optima)
        ]
        best = {order: optima[0] for order, optima in fits.items()}
        answers = (
            [answer.row() for answer in mixture_answers(p, best)] if self.in_answers(p) else []
        )
        store.save(unit, {ANSWERS: answers, FITS: rows}, {})


def fit_row(p: Mixture, fit: Fit, rank: int) -> dict[str, Any]:
    """Return a row of `fits.csv`.

    Args:
        p: the mixture.
        fit: one local optimum.
        rank: 0 for the best optimum of its order.
    """
    return {
        "mixture": p.name,
        "separation": p.separation,
        "weight": p.weight,
        "component_scale": p.scale,
        "order": fit.order,
        "rank": rank,
        "loc": fit.loc,
        "scale": fit.scale,
        "divergence": fit.divergence,
        "swapped_divergence": divergence(p, fit.loc, fit.scale, -fit.order),
        "at_bound": int(fit.at_bound),
        "mass_outside": mass_outside(p, fit),
        "min_component_mass": min_component_mass(p, fit),
    }


def mixture_answers(p: Mixture, best: Mapping[float, Fit]) -> Iterator[Answer]:
    """Return the standard deviations for the named orders, and the mean for reverse KL."""
    yield Answer("mean of q", order_name(REVERSE), best[REVERSE].loc, p.name)
    for order in (REVERSE, HELLINGER, FORWARD):
        exact = {"exact": p.standard_deviation} if order == FORWARD else {}
        yield Answer(
            "standard deviation of q", order_name(order), best[order].scale, p.name, **exact
        )


def pair_tables(p: CorrelatedPair, sweeps: int) -> dict[str, list[dict[str, Any]]]:
    """Return the tables of the correlated pair.

    Args:
        p: the pair.
        sweeps: sweeps of coordinate ascent, at least 2.
    """
    variances = {order: fit_factorised(p, order == FORWARD) for order in (REVERSE, FORWARD)}
    trajectory = list(coordinate_ascent(p, Factorised(np.array(START), np.ones(2)), sweeps))
    factorised = [
        {
            "divergence": order_name(order),
            "correlation": p.correlation,
            "variance": float(variance[0]),
        }
        for order, variance in variances.items()
    ]
    steps = [
        {
            "step": step,
            "loc_1": float(q.loc[0]),
            "loc_2": float(q.loc[1]),
            "reverse_kl": reverse_kl(q, p),
        }
        for step, q in enumerate(trajectory)
    ]
    answers = [answer.row() for answer in pair_answers(p, variances, trajectory)]
    return {ANSWERS: answers, FACTORISED: factorised, COORDINATE_ASCENT: steps}


def pair_answers(
    p: CorrelatedPair, variances: Mapping[float, np.ndarray], trajectory: Sequence[Factorised]
) -> Iterator[Answer]:
    """Return the results of minimisation and coordinate ascent with their closed forms."""
    setting = f"correlation {p.correlation:g}"
    exact = {REVERSE: 1 / p.precision[0, 0], FORWARD: p.covariance[0, 0]}
    minimum = -0.5 * math.log1p(-(p.correlation**2))  # in both directions
    for order, variance in variances.items():
        q, name = Factorised(np.zeros(2), variance), order_name(order)
        kl = (forward_kl if order == FORWARD else reverse_kl)(q, p)
        closed_form = float(exact[order])
        yield Answer(
            "variance of each factor", name, float(variance[0]), setting, exact=closed_form
        )
        yield Answer("minimum divergence [nats]", name, kl, setting, exact=minimum)
    rate = float(trajectory[3].loc[0] / trajectory[1].loc[0])
    yield Answer(
        "mean after a sweep / mean before",
        "coordinate ascent",
        rate,
        setting,
        exact=p.correlation**2,
    )
