"""What was found of the pairs on some observations, as the rows of a run's tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.conjugate_pairs import names, quadrature
from bnnbench.suites.inference_toys.conjugate_pairs.model import Estimates, Pair, PrecisionPair
from bnnbench.suites.inference_toys.conjugate_pairs.quadrature import (
    LogDensity,
    Weighted,
    best_estimate,
    highest,
    log_joint,
    risk,
    weighted,
)

SHOWN = 241
"""Points of a curve."""

WIDE = 4.0
"""Standard deviations of the posterior within which expected losses are tabulated."""


def named(found: Estimates) -> Mapping[str, float]:
    """The estimates by the names that readers know."""
    return {
        names.MLE: found.mle,
        names.MAP: found.mode,
        names.MEAN: found.mean,
        names.MEDIAN: found.median,
        names.SCALE: found.scale,
        names.EVIDENCE: found.log_evidence,
    }


def answers(pairs: Mapping[str, Pair], size: int) -> Iterator[Answer]:
    """Every estimate in closed form beside quadrature."""
    setting = names.setting(size)
    for name, pair in pairs.items():
        exact = named(quadrature.estimates(pair))
        for estimate, value in named(pair.estimates()).items():
            quantity = names.quantity(name, estimate)
            yield Answer(quantity, names.CLOSED_FORM, value, setting, exact=exact[estimate])
        if isinstance(pair, PrecisionPair):
            pseudo = weighted(pair.log_pseudo_joint, pair.reach, pair.positive)
            quantity, true = names.quantity(name, names.MEAN), exact[names.MEAN]
            yield Answer(quantity, names.PSEUDO, pseudo.mean, setting, exact=true)


def density_rows(
    pairs: Mapping[str, Pair], ranges: Mapping[str, tuple[float, float]], size: int
) -> list[dict[str, Any]]:
    """Prior, likelihood and posterior of each pair over a range, each with mass 1 where it has any.

    The likelihood is no density; it is scaled so that it would be one.
    """
    rows = []
    for name, pair in pairs.items():
        values = np.linspace(*ranges[name], SHOWN)
        joint = log_joint(pair)
        curves = {
            "prior": np.exp(pair.log_prior(values)),
            "likelihood": np.exp(pair.log_likelihood(values) - mass(pair.log_likelihood, pair)),
            "posterior": np.exp(joint(values) - mass(joint, pair)),
        }
        for k, value in enumerate(values):
            own = {column: float(curve[k]) for column, curve in curves.items()}
            rows.append({"pair": name, "observations": size, "value": float(value), **own})
    return rows


def mass(log_density: LogDensity, pair: Pair) -> float:
    """The log of an integral over the parameter."""
    return weighted(log_density, pair.reach, pair.positive).log_mass


def posteriors(pairs: Mapping[str, Pair]) -> dict[str, Weighted]:
    """Each posterior as weights on a grid."""
    return {
        name: weighted(log_joint(pair), pair.reach, pair.positive) for name, pair in pairs.items()
    }


def decision_rows(pairs: Mapping[str, Pair], size: int) -> list[dict[str, Any]]:
    """Where each expected loss is least, beside the estimate it should lead to, by quadrature."""
    return [
        {
            "pair": name,
            "observations": size,
            "loss": loss,
            "minimiser": best_estimate(posterior, loss),
            "estimate": named(quadrature.estimates(pairs[name]))[estimate],
            "scale": posterior.scale,
        }
        for name, posterior in posteriors(pairs).items()
        for loss, estimate in names.LOSSES.items()
    ]


def risk_rows(pairs: Mapping[str, Pair], size: int) -> list[dict[str, Any]]:
    """The expected losses of many estimates."""
    rows = []
    for name, posterior in posteriors(pairs).items():
        low = posterior.mean - WIDE * posterior.scale
        low = max(low, 0.0) if pairs[name].positive else low
        for value in np.linspace(low, posterior.mean + WIDE * posterior.scale, SHOWN):
            own = {loss: risk(posterior, loss, float(value)) for loss in names.LOSSES}
            rows.append({"pair": name, "observations": size, "value": float(value), **own})
    return rows


def transform_rows(pair: PrecisionPair, size: int) -> list[dict[str, Any]]:
    """MLE and MAP of the variance, and one over those of the precision.

    The posterior density of the variance has the Jacobian `variance ** -2`, a likelihood none.
    """
    low, high = pair.reach
    ends, joint = (1 / high, 1 / low), log_joint(pair)

    def likelihood_of_variance(variance: np.ndarray) -> np.ndarray:
        return pair.log_likelihood(1 / variance)

    def joint_of_variance(variance: np.ndarray) -> np.ndarray:
        return joint(1 / variance) - 2 * np.log(variance)

    found = {
        names.MLE: (likelihood_of_variance, pair.log_likelihood),
        names.MAP: (joint_of_variance, joint),
    }
    return [
        {
            "observations": size,
            "estimate": name,
            "direct": highest(of_variance, ends, True),
            "through_precision": 1 / highest(of_precision, pair.reach, True),
        }
        for name, (of_variance, of_precision) in found.items()
    ]
