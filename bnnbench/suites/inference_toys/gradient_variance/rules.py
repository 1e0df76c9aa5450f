"""Rules that check claims about gradient estimators on a run's results."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MAJORITY, CheckResult
from bnnbench.suites.inference_toys.gradient_variance.names import (
    CONTROL_VARIATE,
    OPTIMUM,
    PATH_DERIVATIVE,
    PATHWISE,
    RAO_BLACKWELL,
    SCORE,
)
from bnnbench.suites.inference_toys.gradient_variance.saved_run import GradientVarianceRun

MAX_STANDARD_ERRORS = 5.0
"""A mean differs if it is off by more standard errors; the false alarm rate is one in a million."""

RELATIVE_TOLERANCE = 1e-9
"""Relative error of a gradient allowed for quadrature and rounding."""


@dataclass(frozen=True)
class Unbiased:
    """The mean of each estimator is the gradient."""

    rule: str = f"every mean is within {MAX_STANDARD_ERRORS:g} standard errors of the gradient"

    def check(self, run: GradientVarianceRun) -> CheckResult:
        distance = _in_standard_errors(run.variances, "mean", "mean_error", "gradient")
        return bool(
            distance.max() <= MAX_STANDARD_ERRORS
        ), f"largest of {len(distance)}: {distance.max():.1f}"


@dataclass(frozen=True)
class BiasedByLogarithm:
    """The mean of eq. 3.77 differs from the gradient of the ELBO."""

    rule: str = (
        f"with all rows or with minibatches, the mean differs from the gradient by more than "
        f"{MAX_STANDARD_ERRORS:g} standard errors, or the mean over all minibatches (by "
        f"quadrature) by a relative error of more than {RELATIVE_TOLERANCE:g}"
    )

    def check(self, run: GradientVarianceRun) -> CheckResult:
        sampled, enumerated = (run.bias[run.bias["error"].isna() == nan] for nan in (False, True))
        distance = _in_standard_errors(sampled, "mean", "error", "gradient").max()
        error = (enumerated["mean"] / enumerated["gradient"] - 1).abs().max()
        evidence = (
            f"{distance:.1f} standard errors; relative error over all minibatches {error:.0e}"
        )
        return bool(distance > MAX_STANDARD_ERRORS or error > RELATIVE_TOLERANCE), evidence


@dataclass(frozen=True)
class HigherVariance:
    """The score-function estimator generally has a higher variance than the pathwise estimator."""

    rule: str = (
        "its variance exceeds that of the pathwise estimator in at least "
        f"{MAJORITY:.0%} of setups and parameters"
    )

    def check(self, run: GradientVarianceRun) -> CheckResult:
        table = run.by_estimator()
        higher = table[SCORE] > table[PATHWISE]
        others = sorted({str(index[1]) for index in table.index[~higher]})
        exceptions = f"; not for {'; '.join(others)}" if others else ""
        return bool(higher.mean() >= MAJORITY), f"in {higher.sum()} of {len(higher)}{exceptions}"


@dataclass(frozen=True)
class ControlVariateReducesVariance:
    """The control variate reduces the variance of the score-function estimator."""

    rule: str = (
        "the optimal control variate never increases the variance, and reduces it by more than "
        "half in the median over setups and parameters"
    )

    def check(self, run: GradientVarianceRun) -> CheckResult:
        table = run.by_estimator()
        ratio = table[CONTROL_VARIATE] / table[SCORE]
        evidence = f"reduced to {ratio.median():.0%} in the median, range {ratio.min():.0%}"
        return bool(ratio.max() <= 1 and ratio.median() < 0.5), f"{evidence} to {ratio.max():.0%}"


@dataclass(frozen=True)
class ZeroVarianceAtPosterior:
    """Estimators that sample `log q` have zero variance when q is the posterior."""

    rule: str = (
        "at the posterior, the score function with control variate and the path derivative have "
        "zero variance, and the pathwise estimator with exact entropy does not"
    )

    def check(self, run: GradientVarianceRun) -> CheckResult:
        rows = run.variances[run.variances["objective"] == OPTIMUM]
        table = rows.pivot_table("variance", "estimator", "parameter", "max").max(axis=1)
        largest = table[[CONTROL_VARIATE, PATH_DERIVATIVE]].max()
        return bool(
            largest == 0 < table[PATHWISE]
        ), f"{largest:.3g}; {PATHWISE} {table[PATHWISE]:.3g}"


@dataclass(frozen=True)
class RaoBlackwellReducesVariance:
    """The more latent variables, the more omitting their terms reduces the variance."""

    rule: str = "the ratio of variances decreases with every larger number of latent variables"

    def check(self, run: GradientVarianceRun) -> CheckResult:
        table = run.latents.pivot_table("exact", "latents", "estimator")
        ratio = (table[RAO_BLACKWELL] / table[SCORE]).sort_index()
        evidence = ", ".join(f"{value:.2g} (K = {count})" for count, value in ratio.items())
        if len(ratio) < 2:
            return None, f"needs several numbers of latent variables: {evidence}"
        return bool((ratio.diff().dropna() < 0).all()), evidence


@dataclass(frozen=True)
class ConvergesCloser:
    """The pathwise gradient gets closer to the posterior with the same number of samples.

    Attributes:
        other: the estimator compared with.
    """

    other: str

    @property
    def rule(self) -> str:
        return (
            f"the median KL(q || posterior) is lower with the {PATHWISE} gradient than with "
            f"{self.other}, after a tenth of the steps and at the end"
        )

    def check(self, run: GradientVarianceRun) -> CheckResult:
        table = run.convergence.pivot_table("median", "samples", "estimator")
        early = table.index[table.index >= table.index.max() / 10].min()
        rows = table.loc[[early, table.index.max()]]
        evidence = "; ".join(
            f"{row[PATHWISE]:.2g} vs {row[self.other]:.2g} nats after {samples} samples"
            for samples, row in rows.iterrows()
        )
        return bool((rows[PATHWISE] < rows[self.other]).all()), evidence


def _in_standard_errors(rows: pd.DataFrame, mean: str, error: str, exact: str) -> pd.Series:
    """Return differences in units of the standard error, which is at least the rounding error."""
    minimum = RELATIVE_TOLERANCE * rows[exact].abs().clip(lower=1.0)
    return (rows[mean] - rows[exact]).abs() / rows[error].clip(lower=minimum)
