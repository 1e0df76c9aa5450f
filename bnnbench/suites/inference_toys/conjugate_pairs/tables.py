"""The tables of a run on one data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.conjugate_pairs import names, quadrature
from bnnbench.suites.inference_toys.conjugate_pairs.model import Estimates, Pair, PrecisionPair
from bnnbench.suites.inference_toys.conjugate_pairs.quadrature import (
    GridDistribution,
    LogDensity,
    discretise,
    log_joint,
    maximise,
    minimise_risk,
    risk,
)

N_CURVE_POINTS = 241
"""Points per curve."""

RISK_HALF_WIDTH = 4.0
"""Range of tabulated estimates around the mean, in posterior standard deviations."""


def by_name(estimates: Estimates) -> Mapping[str, float]:
    """Return the estimates by their names in the tables."""
    return {
        names.MLE: estimates.mle,
        names.MAP: estimates.mode,
        names.MEAN: estimates.mean,
        names.MEDIAN: estimates.median,
        names.SCALE: estimates.scale,
        names.EVIDENCE: estimates.log_evidence,
    }


def answers(pairs: Mapping[str, Pair], size: int) -> Iterator[Answer]:
    """Return every estimate in closed form, with the exact value by quadrature."""
    setting = names.setting(size)
    for name, pair in pairs.items():
        exact = by_name(quadrature.estimates(pair))
        for estimate, value in by_name(pair.estimates()).items():
            quantity = names.quantity(name, estimate)
            yield Answer(quantity, names.CLOSED_FORM, value, setting, exact=exact[estimate])
        if isinstance(pair, PrecisionPair):
            pseudo = discretise(pair.log_pseudo_joint, pair.integration_limits, pair.is_positive)
            quantity, true = names.quantity(name, names.MEAN), exact[names.MEAN]
            yield Answer(quantity, names.PSEUDO, pseudo.mean, setting, exact=true)


def density_rows(
    pairs: Mapping[str, Pair], ranges: Mapping[str, tuple[float, float]], size: int
) -> list[dict[str, Any]]:
    """Return prior, likelihood and posterior of each pair on a grid.

    The likelihood is scaled to integrate to 1.
    """
    rows = []
    for name, pair in pairs.items():
        values = np.linspace(*ranges[name], N_CURVE_POINTS)
        joint = log_joint(pair)
        curves = {
            "prior": np.exp(pair.log_prior(values)),
            "likelihood": np.exp(pair.log_likelihood(values) - log_mass(pair.log_likelihood, pair)),
            "posterior": np.exp(joint(values) - log_mass(joint, pair)),
        }
        for k, value in enumerate(values):
            densities = {column: float(curve[k]) for column, curve in curves.items()}
            rows.append({"pair": name, "observations": size, "value": float(value), **densities})
    return rows


def log_mass(log_density: LogDensity, pair: Pair) -> float:
    """Return the log of the integral over the parameter."""
    return discretise(log_density, pair.integration_limits, pair.is_positive).log_mass


def posteriors(pairs: Mapping[str, Pair]) -> dict[str, GridDistribution]:
    """Return each posterior on a grid."""
    return {
        name: discretise(log_joint(pair), pair.integration_limits, pair.is_positive)
        for name, pair in pairs.items()
    }


def decision_rows(pairs: Mapping[str, Pair], size: int) -> list[dict[str, Any]]:
    """Return the minimiser of each expected loss and the estimate that it should equal."""
    return [
        {
            "pair": name,
            "observations": size,
            "loss": loss,
            "minimiser": minimise_risk(posterior, loss),
            "estimate": by_name(quadrature.estimates(pairs[name]))[estimate],
            "scale": posterior.scale,
        }
        for name, posterior in posteriors(pairs).items()
        for loss, estimate in names.LOSSES.items()
    ]


def risk_rows(pairs: Mapping[str, Pair], size: int) -> list[dict[str, Any]]:
    """Return the expected losses on a grid of estimates."""
    rows = []
    for name, posterior in posteriors(pairs).items():
        low = posterior.mean - RISK_HALF_WIDTH * posterior.scale
        low = max(low, 0.0) if pairs[name].is_positive else low
        for value in np.linspace(
            low, posterior.mean + RISK_HALF_WIDTH * posterior.scale, N_CURVE_POINTS
        ):
            risks = {loss: risk(posterior, loss, float(value)) for loss in names.LOSSES}
            rows.append({"pair": name, "observations": size, "value": float(value), **risks})
    return rows


def transform_rows(pair: PrecisionPair, size: int) -> list[dict[str, Any]]:
    """Return MLE and MAP of the variance, directly and as one over those of the precision.

    The posterior density of the variance includes the Jacobian `variance ** -2`.
    """
    low, high = pair.integration_limits
    variance_limits, joint = (1 / high, 1 / low), log_joint(pair)

    def likelihood_of_variance(variance: np.ndarray) -> np.ndarray:
        return pair.log_likelihood(1 / variance)

    def joint_of_variance(variance: np.ndarray) -> np.ndarray:
        return joint(1 / variance) - 2 * np.log(variance)

    objectives = {
        names.MLE: (likelihood_of_variance, pair.log_likelihood),
        names.MAP: (joint_of_variance, joint),
    }
    return [
        {
            "observations": size,
            "estimate": name,
            "direct": maximise(of_variance, variance_limits, True),
            "through_precision": 1 / maximise(of_precision, pair.integration_limits, True),
        }
        for name, (of_variance, of_precision) in objectives.items()
    ]
