"""The tables of a run: the names in them, and how they are computed and read."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from bnnbench.experiment.table_experiment import Tables
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.saved_tables import table_reader
from bnnbench.suites.inference_toys.kl_shapes import correlated
from bnnbench.suites.inference_toys.kl_shapes.fitting import (
    FORWARD,
    HELLINGER,
    REVERSE,
    Mixture,
    local_optima,
    mass_outside,
    min_component_mass,
)

FITS, FACTORISED, COORDINATE_ASCENT = "fits", "factorised", "coordinate_ascent"

read_run = table_reader(
    {
        # The local optima, one row per mixture, order and optimum; rank 0 is the best.
        FITS: ("separation", "weight", "component_scale", "order", "rank", "loc", "scale",
               "divergence", "at_bound", "mass_outside", "min_component_mass"),
        # The variance of the optimal factors, one row per direction of the KL divergence.
        FACTORISED: ("correlation", "variance"),
        # Coordinate ascent of the factorised Gaussian, one row per update of one factor.
        COORDINATE_ASCENT: ("step", "loc_1", "loc_2", "reverse_kl"),
    }
)  # fmt: skip

ORDER_NAMES = {REVERSE: "reverse KL", HELLINGER: "Hellinger", FORWARD: "forward KL"}

MEAN, SCALE = "mean of q", "standard deviation of q"

START = (-1.6, 1.6)
"""Initial means of coordinate ascent: across the ridge, where convergence is slowest."""


def mixture_tables(p: Mixture, orders: Sequence[float], in_answers: bool) -> Tables:
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
            "at_bound": int(fit.at_bound),
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


def pair_tables(correlation: float, sweeps: int) -> Tables:
    """Return the tables of a correlated pair, with closed forms as exact values."""
    p, setting = correlated.covariance_matrix(correlation), f"correlation {correlation:g}"
    minimum = -0.5 * math.log1p(-(correlation**2))  # in both directions
    answers, factorised = [], []
    for order, exact in ((REVERSE, 1 / np.linalg.inv(p)[0, 0]), (FORWARD, p[0, 0])):
        name, forward = ORDER_NAMES[order], order == FORWARD
        variance = correlated.fit_factorised(p, forward)
        kl = correlated.kl_divergence(np.zeros(2), variance, p, forward)
        answers += [
            Answer("variance of each factor", name, variance[0], setting, exact=exact),
            Answer("minimum divergence [nats]", name, kl, setting, exact=minimum),
        ]
        factorised.append({"divergence": name, "correlation": correlation, "variance": variance[0]})
    steps = list(correlated.coordinate_ascent(p, np.array(START), sweeps))
    means = np.array([mean for mean, _ in steps])
    rate, quantity = means[3, 0] / means[1, 0], "mean after a sweep / mean before"
    answers.append(Answer(quantity, "coordinate ascent", rate, setting, exact=correlation**2))
    ascent = {
        "step": range(len(steps)),
        "loc_1": means[:, 0],
        "loc_2": means[:, 1],
        "reverse_kl": [correlated.kl_divergence(*step, p, forward=False) for step in steps],
    }
    return {
        ANSWERS: answers,
        FACTORISED: factorised,
        COORDINATE_ASCENT: pd.DataFrame(ascent),
    }
