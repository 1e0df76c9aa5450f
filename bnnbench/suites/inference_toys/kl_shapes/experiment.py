"""Gaussians fitted to mixtures by alpha-divergences, and factorised ones to a correlated pair.

Book, sections 3.2.1.3, 3.2.2.1 and 3.2.3.3, Figs. 3.5, 3.7, 3.9 and 3.12. The book draws these
figures and prints no numbers; the mixtures here are ours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, ListOf
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.suites.inference_toys.kl_shapes.fitting import (
    FORWARD,
    HELLINGER,
    REVERSE,
    BimodalTarget,
    covariance_matrix,
    fit_factorised,
    kl_divergence,
    local_optima,
    mass_outside,
    min_component_mass,
)

FITS, FACTORISED = "fits", "factorised"


ORDER_NAMES = {REVERSE: "reverse KL", HELLINGER: "Hellinger", FORWARD: "forward KL"}

MEAN, SCALE = "mean of q", "standard deviation of q"

PAIR = "correlated-pair"
"""Name of the unit with the correlated pair; all others are mixtures."""


@dataclass(frozen=True, kw_only=True)
class KLShapes(TableExperiment):
    """Fits a Gaussian q to each mixture p by each divergence, with all local optima.

    The mixtures are `weight N(-separation, 1) + (1 - weight) N(separation, scale^2)`, in all
    combinations. The experiment is deterministic.

    See `configs/experiment` for the settings.
    """

    identity_name = "bnnbench.suites.inference_toys.kl_shapes.experiment.KLShapes"
    separations: Annotated[tuple[float, ...], ListOf(Between(0, 8, low_included=True))]
    weights: Annotated[tuple[float, ...], ListOf(Between(0, 1))]
    scales: Annotated[tuple[float, ...], ListOf(Between(0.25, 10, low_included=True))]
    orders: Annotated[tuple[float, ...], ListOf(Between(-10, 10))]
    correlation: Annotated[float, Between(0, 1)]
    kind: ClassVar[str] = "kl_shapes"
    name: ClassVar[str] = "KL shapes"
    unit_noun: ClassVar[str] = "shape"
    folder_settings: ClassVar[tuple[str, ...]] = ("correlation",)

    def cases(self) -> Mapping[str, BimodalTarget | None]:
        """Return the mixtures, and None for the correlated pair."""
        settings = product(self.weights, self.scales, self.separations)
        mixtures = [
            BimodalTarget(separation, weight, scale) for weight, scale, separation in settings
        ]
        return {**{f"mixture-{k}": p for k, p in enumerate(mixtures)}, PAIR: None}

    def tables(self, case: BimodalTarget | None) -> Tables:
        if case is None:
            return pair_tables(self.correlation)
        orders = sorted({*self.orders, *ORDER_NAMES})
        return mixture_tables(case, orders, self._in_answers(case))

    def _in_answers(self, p: BimodalTarget) -> bool:
        """Return whether a mixture is in the answers: the first kind, others if well separated."""
        first = (p.weight, p.scale) == (self.weights[0], self.scales[0])
        gaussian = p.separation == 0 and p.scale == 1
        return not gaussian and (first or p.separation == max(self.separations))


def mixture_tables(p: BimodalTarget, orders: Sequence[float], in_answers: bool) -> Tables:
    """Return the local optima of every order for a mixture, and the answers about the best.

    The orders include those in `ORDER_NAMES`.
    """
    table = pd.DataFrame(
        {
            "mixture": p.name,
            "separation": p.separation,
            "weight": p.weight,
            "component_scale": p.scale,
            "order": order,
            "rank": rank,
            "loc": fit.loc,
            "scale": fit.scale,
            "divergence": fit.divergence,
            "mass_outside": mass_outside(p, fit),
            "min_component_mass": min_component_mass(p, fit),
        }
        for order in orders
        for rank, fit in enumerate(local_optima(p, order))
    )
    best = table[table["rank"] == 0].set_index("order")
    answers = [Answer(MEAN, ORDER_NAMES[REVERSE], best["loc"][REVERSE], p.name)]
    for order, name in ORDER_NAMES.items():
        exact = p.standard_deviation if order == FORWARD else math.nan
        answers.append(Answer(SCALE, name, best["scale"][order], p.name, exact=exact))
    return {ANSWERS: answers if in_answers else [], FITS: table}


def pair_tables(correlation: float) -> Tables:
    """Return the tables of a correlated pair, with closed forms as exact values."""
    p, setting = covariance_matrix(correlation), f"correlation {correlation:g}"
    minimum = -0.5 * math.log1p(-(correlation**2))  # in both directions
    answers, factorised = [], []
    for order, exact in ((REVERSE, 1 / np.linalg.inv(p)[0, 0]), (FORWARD, p[0, 0])):
        name, forward = ORDER_NAMES[order], order == FORWARD
        variance = fit_factorised(p, forward)
        kl = kl_divergence(np.zeros(2), variance, p, forward)
        answers += [
            Answer("variance of each factor", name, variance[0], setting, exact=exact),
            Answer("minimum divergence [nats]", name, kl, setting, exact=minimum),
        ]
        factorised.append({"divergence": name, "correlation": correlation, "variance": variance[0]})
    return {ANSWERS: answers, FACTORISED: factorised}
