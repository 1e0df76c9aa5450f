"""The tables of a run: the names in them, and how they are computed and read."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.saved_tables import table_reader
from bnnbench.suites.inference_toys.conjugate_pairs import model, quadrature
from bnnbench.suites.inference_toys.conjugate_pairs.model import Pair, PrecisionPair
from bnnbench.suites.inference_toys.conjugate_pairs.quadrature import Axis, LogDensity, maximise

DENSITIES, RISKS, DECISIONS, TRANSFORMS = "densities", "risks", "decisions", "transforms"

read_run = table_reader(
    {
        # Prior, likelihood (scaled to integrate to 1) and posterior of each pair on a grid.
        DENSITIES: ("observations", "value", "prior", "likelihood", "posterior"),
        # Expected losses under the posterior, by estimate.
        RISKS: ("observations", "value", "quadratic", "absolute", "zero_one"),
        # The minimiser of each expected loss, and the estimate that it should equal.
        DECISIONS: ("observations", "minimiser", "estimate", "scale"),
        # Estimates of the variance, directly and as one over those of the precision.
        TRANSFORMS: ("observations", "direct", "through_precision"),
    }
)

LOSSES = {"quadratic": model.MEAN, "absolute": model.MEDIAN, "zero_one": model.MAP}
"""The estimate that minimises each expected loss (section 2.6.4)."""

N_CURVE_POINTS = 241

RISK_HALF_WIDTH = 4.0
"""Range of tabulated estimates around the mean, in posterior standard deviations."""


def setting(observations: int) -> str:
    """Return the `setting` of answers for this number of observations."""
    return f"{observations} observation{'s' if observations > 1 else ''}"


def pair_tables(pair: Pair, limits: tuple[float, float]) -> dict[str, pd.DataFrame]:
    """Return the answers, densities (within the limits), decisions and risks of a pair."""
    size = len(pair.observations)
    posterior = quadrature.discretise(model.log_joint(pair), pair.axis)
    exact = model.numerical_estimates(pair)
    answers = [
        Answer(f"{pair.name}: {name}", approximation, value, setting(size), exact=exact[name])
        for approximation, estimates in pair.approximations().items()
        for name, value in estimates.items()
    ]
    decisions = {
        "loss": list(LOSSES),
        "minimiser": [quadrature.minimise_risk(posterior, loss) for loss in LOSSES],
        "estimate": [exact[name] for name in LOSSES.values()],
        "scale": posterior.scale,
    }
    half_width = RISK_HALF_WIDTH * posterior.scale
    low = max(posterior.mean - half_width, 0.0 if pair.axis.is_positive else -np.inf)
    values = np.linspace(low, posterior.mean + half_width, N_CURVE_POINTS)
    risks = {loss: [quadrature.risk(posterior, loss, value) for value in values] for loss in LOSSES}
    keys = {"pair": pair.name, "observations": size}
    return {
        ANSWERS: pd.DataFrame(answers),
        DENSITIES: pd.DataFrame({**keys, **densities(pair, limits)}),
        DECISIONS: pd.DataFrame({**keys, **decisions}),
        RISKS: pd.DataFrame({**keys, "value": values, **risks}),
    }


def densities(pair: Pair, limits: tuple[float, float]) -> dict[str, np.ndarray]:
    """Return prior, likelihood and posterior density on a grid, `[N_CURVE_POINTS]` each."""
    values = np.linspace(*limits, N_CURVE_POINTS)

    def normalised(log_density: LogDensity) -> np.ndarray:
        log_mass = quadrature.discretise(log_density, pair.axis).log_mass
        return np.asarray(np.exp(log_density(values) - log_mass))

    return {
        "value": values,
        "prior": np.exp(pair.log_prior(values)),
        "likelihood": normalised(pair.log_likelihood),
        "posterior": normalised(model.log_joint(pair)),
    }


def transforms(pair: PrecisionPair) -> pd.DataFrame:
    """Return MLE and MAP of the variance, directly and as one over those of the precision.

    The posterior density of the variance includes the Jacobian `variance ** -2`.
    """
    likelihood, joint = pair.log_likelihood, model.log_joint(pair)
    axis = Axis(-pair.axis.high, -pair.axis.low, is_positive=True)
    direct = (
        maximise(lambda variance: likelihood(1 / variance), axis),
        maximise(lambda variance: joint(1 / variance) - 2 * np.log(variance), axis),
    )
    through_precision = (1 / maximise(likelihood, pair.axis), 1 / maximise(joint, pair.axis))
    keys = {"observations": len(pair.observations), "estimate": (model.MLE, model.MAP)}
    return pd.DataFrame({**keys, "direct": direct, "through_precision": through_precision})
