"""Fits a Gaussian to mixtures by every alpha-divergence, and a factorised one to a correlated pair.

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
    Correlated,
    Factorised,
    coordinate_ascent,
    forward_kl,
    nearest_variances,
    reverse_kl,
)
from bnnbench.suites.inference_toys.kl_shapes.fitting import (
    Fit,
    divergence,
    least_mass_on_a_part,
    local_optima,
    mass_where_p_has_none,
)
from bnnbench.suites.inference_toys.kl_shapes.mixture import Mixture
from bnnbench.suites.inference_toys.kl_shapes.tables import (
    FACTORISED,
    FITS,
    FORWARD,
    HELLINGER,
    KIND,
    NEAR,
    REVERSE,
    STEPS,
    name_of,
)
from bnnbench.types import UserError

PAIR = "correlated-pair"
"""The unit that is no mixture."""

START = (-1.6, 1.6)
"""Means from which coordinate ascent sets out: across the ridge, where its way is longest."""


@dataclass(frozen=True, kw_only=True)
class KLShapes(Experiment):
    """A Gaussian q for each mixture p and each order, and all that is nearly as good.

    The mixtures are `share N(-separation, 1) + (1 - share) N(separation, scale^2)`, all
    combinations. Nothing is random.

    Attributes:
        separations: of the parts from zero, from 0 to below 8.
        shares: of the left part, between 0 and 1.
        scales: standard deviations of the right part, from 0.25 to below 10.
        orders: of the alpha-divergences in the book's convention, between -10 and 10; those with
            names, and two next to KL, are fitted besides.
        correlation: of the pair of variables, between 0 and 1.
        sweeps: of coordinate ascent over the pair, at least 2.
    """

    separations: tuple[float, ...]
    shares: tuple[float, ...]
    scales: tuple[float, ...]
    orders: tuple[float, ...]
    correlation: float
    sweeps: int
    kind: ClassVar[str] = KIND
    unit_noun: ClassVar[str] = "shape"
    step_noun: ClassVar[str] = "shapes"

    def check(self) -> None:
        for name in ("separations", "shares", "scales", "orders"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or not values:
                raise UserError(
                    f"experiment.{name} must be a list of numbers, such as [1], not {values!r}."
                )
        for value in self.separations:
            check_between("experiment.separations", value, 0, 8, low_included=True)
        for value in self.shares:
            check_between("experiment.shares", value, 0, 1)
        for value in self.scales:
            check_between("experiment.scales", value, 0.25, 10, low_included=True)
        for value in self.orders:
            check_between("experiment.orders", value, -10, 10)
        check_between("experiment.correlation", self.correlation, 0, 1)
        check_int("experiment.sweeps", self.sweeps, least=2)

    @property
    def title(self) -> str:
        return "KL shapes"

    @property
    def mixtures(self) -> tuple[Mixture, ...]:
        """In the order of their units."""
        combined = product(self.shares, self.scales, self.separations)
        return tuple(Mixture(separation, share, scale) for share, scale, separation in combined)

    def quoted(self, p: Mixture) -> bool:
        """Whether its numbers are among the answers: the first kind, and the others far apart."""
        first = (p.share, p.scale) == (self.shares[0], self.scales[0])
        gaussian = p.separation == 0 and p.scale == 1
        return not gaussian and (first or p.separation == max(self.separations))

    @property
    def fitted_orders(self) -> tuple[float, ...]:
        """Rising."""
        return tuple(sorted({*self.orders, REVERSE, -NEAR, HELLINGER, NEAR, FORWARD}))

    def units(self) -> tuple[str, ...]:
        return (*(f"mixture-{k}" for k in range(len(self.mixtures))), PAIR)

    def place(self) -> tuple[str, ...]:
        return ("mixtures",)

    def names(self) -> dict[str, Any]:
        return {"mixtures": len(self.mixtures), "correlation": self.correlation}

    def run(self, unit: str, store: UnitStore) -> None:
        if unit == PAIR:
            store.save(unit, pair_tables(Correlated(self.correlation), self.sweeps), {})
            return
        p = self.mixtures[int(unit.split("-")[1])]
        fits = {order: local_optima(p, order) for order in self.fitted_orders}
        rows = [row_of(p, fit, rank) for own in fits.values() for rank, fit in enumerate(own)]
        best = {order: own[0] for order, own in fits.items()}
        answers = [answer.row() for answer in mixture_answers(p, best)] if self.quoted(p) else []
        store.save(unit, {ANSWERS: answers, FITS: rows}, {})


def row_of(p: Mixture, fit: Fit, rank: int) -> dict[str, Any]:
    """A row of `fits.csv`.

    Args:
        p: the mixture.
        fit: one local optimum.
        rank: 0 for the best of its order.
    """
    return {
        "mixture": p.name,
        "separation": p.separation,
        "share": p.share,
        "scale_of_part": p.scale,
        "order": fit.order,
        "rank": rank,
        "loc": fit.loc,
        "scale": fit.scale,
        "divergence": fit.divergence,
        "swapped": divergence(p, fit.loc, fit.scale, -fit.order),
        "at_edge": int(fit.at_edge),
        "stray": mass_where_p_has_none(p, fit),
        "least_part": least_mass_on_a_part(p, fit),
    }


def mixture_answers(p: Mixture, best: Mapping[float, Fit]) -> Iterator[Answer]:
    """Standard deviations by the orders that have names, and where reverse KL puts the mean."""
    yield Answer("mean of q", name_of(REVERSE), best[REVERSE].loc, p.name)
    for order in (REVERSE, HELLINGER, FORWARD):
        exact = {"exact": p.standard_deviation} if order == FORWARD else {}
        yield Answer("standard deviation of q", name_of(order), best[order].scale, p.name, **exact)


def pair_tables(p: Correlated, sweeps: int) -> dict[str, list[dict[str, Any]]]:
    """The rows of the correlated pair, by table.

    Args:
        p: the pair.
        sweeps: of coordinate ascent, at least 2.
    """
    variances = {order: nearest_variances(p, order == FORWARD) for order in (REVERSE, FORWARD)}
    way = list(coordinate_ascent(p, Factorised(np.array(START), np.ones(2)), sweeps))
    factorised = [
        {"divergence": name_of(order), "correlation": p.correlation, "variance": float(variance[0])}
        for order, variance in variances.items()
    ]
    steps = [
        {
            "step": step,
            "loc_1": float(q.loc[0]),
            "loc_2": float(q.loc[1]),
            "reverse_kl": reverse_kl(q, p),
        }
        for step, q in enumerate(way)
    ]
    answers = [answer.row() for answer in pair_answers(p, variances, way)]
    return {ANSWERS: answers, FACTORISED: factorised, STEPS: steps}


def pair_answers(
    p: Correlated, variances: Mapping[float, np.ndarray], way: Sequence[Factorised]
) -> Iterator[Answer]:
    """What was found by minimisation and by coordinate ascent, beside the closed forms."""
    setting = f"correlation {p.correlation:g}"
    exact = {REVERSE: 1 / p.precision[0, 0], FORWARD: p.covariance[0, 0]}
    least = -0.5 * math.log1p(-(p.correlation**2))  # of both directions
    for order, variance in variances.items():
        q, name = Factorised(np.zeros(2), variance), name_of(order)
        kl = (forward_kl if order == FORWARD else reverse_kl)(q, p)
        own = float(exact[order])
        yield Answer("variance of each factor", name, float(variance[0]), setting, exact=own)
        yield Answer("least divergence [nats]", name, kl, setting, exact=least)
    rate = float(way[3].loc[0] / way[1].loc[0])
    yield Answer(
        "mean after a sweep / before", "coordinate ascent", rate, setting, exact=p.correlation**2
    )
