"""Two conjugate pairs and their point estimates as observations accumulate.

Cinelli et al., sections 2.5.2 and 2.6: a normal with known variance and a normal prior on its mean,
and a normal with known mean and a Gamma prior on its precision. Two printed equations are wrong:
(2.38) gives one over the posterior *variance*, not standard deviation, and (2.39) omits two
variances. Other errata of the chapter: (2.2) gives the uniform density as 1 / (a - b), the sum of
(2.43) starts at 0, and that of (2.63) at 1 instead of 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import gammainccinv, gammaln

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.identity import no_identity

MLE, MAP, MEAN, MEDIAN = "MLE", "MAP", "posterior mean", "posterior median"
SCALE, EVIDENCE = "posterior standard deviation", "log evidence"  # the evidence in nats

CLOSED_FORM = "closed form"
AS_PRINTED = "closed form as printed"

Estimates = dict[str, float]
"""Estimates of a parameter and moments of its posterior, by name."""

DENSITIES = "densities"
"""Prior, likelihood (scaled to integrate to 1) and posterior of each pair on a grid."""

N_CURVE_POINTS = 241

MAX_OBSERVATIONS = 10_000
"""Maximum number of observations."""

MAX_MAGNITUDE = 1e6
"""Maximum of means and standard deviations; its inverse is the minimum standard deviation."""

Mean = Annotated[float, Between(-MAX_MAGNITUDE, MAX_MAGNITUDE)]
Scale = Annotated[float, Between(1 / MAX_MAGNITUDE, MAX_MAGNITUDE)]
Positive = Between(0, MAX_MAGNITUDE)
Sizes = Annotated[tuple[int, ...], ListOf(Whole(1, MAX_OBSERVATIONS), order="distinct")]


@dataclass(frozen=True, kw_only=True)
class ConjugatePairs(TableExperiment):
    """Estimates a mean and a precision from increasing numbers of observations.

    See `configs/experiment` for the settings.
    """

    identity_name = "bnnbench.suites.inference_toys.conjugate_pairs.experiment.ConjugatePairs"
    mean: Mean
    scale: Scale
    prior_mean: Mean
    prior_scale: Scale
    prior_shape: Annotated[float, Positive]
    prior_rate: Annotated[float, Positive]
    data_seed: Annotated[int, Whole(0)]
    mean_range: Annotated[
        tuple[float, float], ListOf(Between(-MAX_MAGNITUDE, MAX_MAGNITUDE), 2, "increasing")
    ]
    precision_range: Annotated[tuple[float, float], ListOf(Positive, 2, "increasing")]
    sizes: Sizes = no_identity()
    kind: ClassVar[str] = "conjugate_pairs"
    name: ClassVar[str] = "conjugate pairs"
    unit_noun: ClassVar[str] = "data set"
    folder_settings: ClassVar[tuple[str, ...]] = ("data_seed",)
    one_process: ClassVar[bool] = True

    def cases(self) -> Mapping[str, int]:
        return {f"observations-{size}": size for size in self.sizes}

    def tables(self, case: int) -> Tables:
        """Compute the estimates for one number of observations."""
        x = simulate(case, self.mean, self.scale, self.data_seed)
        mean = MeanPair(x, self.scale, self.prior_mean, self.prior_scale)
        precision = PrecisionPair(x, self.mean, self.prior_shape, self.prior_rate)
        return {
            ANSWERS: [*answers(mean), *answers(precision)],
            DENSITIES: pd.concat(
                [densities(mean, self.mean_range), densities(precision, self.precision_range)]
            ),
        }


def setting(observations: int) -> str:
    """Return the `setting` of answers for this number of observations."""
    return f"{observations} observation{'s' if observations > 1 else ''}"


def answers(pair: Pair) -> Iterator[Answer]:
    """Yield the estimates; those as printed next to the closed form."""
    own, approximations = setting(len(pair.observations)), pair.approximations()
    for approximation, estimates in approximations.items():
        for name, value in estimates.items():
            exact = approximations[CLOSED_FORM][name] if approximation == AS_PRINTED else np.nan
            yield Answer(f"{pair.name}: {name}", approximation, value, own, exact=exact)


def densities(pair: Pair, limits: tuple[float, float]) -> pd.DataFrame:
    """Return prior, likelihood and posterior density on a grid within the limits."""
    values = np.linspace(*limits, N_CURVE_POINTS)
    columns = {name: own.pdf(values) for name, own in pair.distributions().items()}
    keys = {"pair": pair.name, "observations": len(pair.observations)}
    return pd.DataFrame({**keys, "value": values, **columns})


@dataclass(frozen=True)
class MeanPair:
    """A normal mean with a normal prior, (2.33)-(2.39).

    The observations `[N]` have the known standard deviation `scale`.
    """

    observations: np.ndarray
    scale: float
    prior_mean: float
    prior_scale: float
    name: ClassVar[str] = "normal mean"

    def distributions(self) -> dict[str, Any]:
        """Return prior, likelihood (scaled to a density) and posterior of the mean."""
        posterior = self.approximations()[CLOSED_FORM]
        deviation = self.scale / np.sqrt(len(self.observations))
        return {
            "prior": stats.norm(self.prior_mean, self.prior_scale),
            "likelihood": stats.norm(self.observations.mean(), deviation),
            "posterior": stats.norm(posterior[MEAN], posterior[SCALE]),
        }

    def approximations(self) -> dict[str, Estimates]:
        """Return the estimates by (2.39) and (2.38), corrected and as printed."""
        average, count = float(self.observations.mean()), len(self.observations)
        noise, prior = self.scale**2, self.prior_scale**2
        total = noise + count * prior
        mean = (noise * self.prior_mean + count * prior * average) / total
        variance = 1 / (1 / prior + count / noise)
        corrected = _estimates_of_normal(mean, float(np.sqrt(variance)))
        printed = _estimates_of_normal((self.prior_mean + count * average) / total, variance)
        return {
            CLOSED_FORM: {MLE: average, **corrected, EVIDENCE: self._log_evidence()},
            AS_PRINTED: printed,
        }

    def _log_evidence(self) -> float:
        """Return the log evidence; the observations have covariance `scale^2 I + prior_scale^2`."""
        residuals = self.observations - self.prior_mean
        count, noise, prior = len(residuals), self.scale**2, self.prior_scale**2
        eigenvalue = noise + count * prior
        quadratic = (residuals**2).sum() / noise
        quadratic -= prior * residuals.sum() ** 2 / (noise * eigenvalue)
        log_determinant = (count - 1) * np.log(noise) + np.log(eigenvalue)
        return float(-0.5 * (count * np.log(2 * np.pi) + log_determinant + quadratic))


@dataclass(frozen=True)
class PrecisionPair:
    """The precision of a normal with known mean and a Gamma prior, (2.40)-(2.42).

    The observations have shape `[N]`; shape and rate of the prior are alpha and beta.
    """

    observations: np.ndarray
    mean: float
    prior_shape: float
    prior_rate: float
    name: ClassVar[str] = "precision"

    @property
    def sum_of_squares(self) -> float:
        """Sum of squared deviations from the mean."""
        return float(((self.observations - self.mean) ** 2).sum())

    @property
    def shape(self) -> float:
        """Shape of the Gamma posterior, (2.42)."""
        return self.prior_shape + len(self.observations) / 2

    @property
    def rate(self) -> float:
        """Rate of the Gamma posterior, (2.42)."""
        return self.prior_rate + self.sum_of_squares / 2

    def distributions(self) -> dict[str, Any]:
        """Return prior, likelihood (scaled to a density) and posterior of the precision."""
        count = len(self.observations)
        return {
            "prior": stats.gamma(self.prior_shape, scale=1 / self.prior_rate),
            "likelihood": stats.gamma(count / 2 + 1, scale=2 / self.sum_of_squares),
            "posterior": stats.gamma(self.shape, scale=1 / self.rate),
        }

    def approximations(self) -> dict[str, Estimates]:
        """Return the closed form."""
        shape, rate, count = self.shape, self.rate, len(self.observations)
        log_evidence = (
            self.prior_shape * np.log(self.prior_rate) - gammaln(self.prior_shape)
            + gammaln(shape) - shape * np.log(rate) - 0.5 * count * np.log(2 * np.pi)
        )  # fmt: skip
        closed_form = {
            MLE: count / self.sum_of_squares,
            MAP: max(shape - 1, 0.0) / rate,
            MEAN: shape / rate,
            MEDIAN: float(gammainccinv(shape, 0.5)) / rate,
            SCALE: float(np.sqrt(shape)) / rate,
            EVIDENCE: float(log_evidence),
        }
        return {CLOSED_FORM: closed_form}


Pair = MeanPair | PrecisionPair
"""A likelihood with its conjugate prior and data."""


def simulate(count: int, mean: float, scale: float, seed: int) -> np.ndarray:
    """Draw normal observations, `[N]`; smaller samples are prefixes of larger ones."""
    return mean + scale * np.random.default_rng(seed).standard_normal(count)


def _estimates_of_normal(mean: float, scale: float) -> Estimates:
    return {MAP: mean, MEAN: mean, MEDIAN: mean, SCALE: scale}
