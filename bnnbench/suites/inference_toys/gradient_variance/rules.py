"""The rules by which statements on gradient estimators are checked."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MOST, Finding
from bnnbench.suites.inference_toys.gradient_variance.findings import Findings
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    CONTROLLED,
    OPTIMUM,
    PATH_DERIVATIVE,
    PATHWISE,
    RAO_BLACKWELL,
    SCORE,
)

ERRORS = 5.0
"""Standard errors beyond which a mean is said to differ: by chance in one of a million."""

ROUNDING = 1e-9
"""Relative to a gradient, what quadrature and sums of floats may leave."""


@dataclass(frozen=True)
class Unbiased:
    """Whether the mean of each estimator is the gradient."""

    rule: str = f"every mean is within {ERRORS:g} standard errors of the gradient, or of rounding"

    def find(self, given: Findings) -> Finding:
        away = _away(given.variances, "mean", "mean_error", "gradient")
        return bool(away.max() <= ERRORS), f"largest of {len(away)}: {away.max():.1f}"


@dataclass(frozen=True)
class BiasedByTheLog:
    """Whether the mean of eq. 3.77 is something else than the gradient of the ELBO."""

    rule: str = (
        f"of all rows or of minibatches, the mean of draws is more than {ERRORS:g} standard errors "
        f"off, or that over every minibatch, by quadrature, more than {ROUNDING:g} of the gradient"
    )

    def find(self, given: Findings) -> Finding:
        drawn, listed = (given.bias[given.bias["error"].isna() == nan] for nan in (False, True))
        away = _away(drawn, "mean", "error", "gradient").max()
        off = ((listed["mean"] - listed["gradient"]) / listed["gradient"]).abs().max()
        evidence = f"{away:.1f} standard errors; over every minibatch {off:.0e} of the gradient"
        return bool(away > ERRORS or off > ROUNDING), evidence


@dataclass(frozen=True)
class HigherVariance:
    """Whether the score function estimator generally has the higher variance."""

    rule: str = f"its variance is above the pathwise one's in {MOST:.0%} of places and parameters"

    def find(self, given: Findings) -> Finding:
        table = given.by_estimator()
        above = table[SCORE] > table[PATHWISE]
        others = sorted({str(place[1]) for place in table.index[~above]})
        but = f"; not on {'; '.join(others)}" if others else ""
        return bool(above.mean() >= MOST), f"in {above.sum()} of {len(above)}{but}"


@dataclass(frozen=True)
class ControlLowersVariance:
    """Whether the control variate lowers the variance of the score function estimator."""

    rule: str = (
        "the best control variate raises its variance at no place and parameter, and at half of "
        "them more than halves it"
    )

    def find(self, given: Findings) -> Finding:
        table = given.by_estimator()
        ratio = table[CONTROLLED] / table[SCORE]
        evidence = f"to {ratio.median():.0%} of it in the middle, from {ratio.min():.0%}"
        return bool(ratio.max() <= 1 and ratio.median() < 0.5), f"{evidence} to {ratio.max():.0%}"


@dataclass(frozen=True)
class VanishesAtTheOptimum:
    """Whether estimators that sample `log q` have no variance where q is the posterior."""

    rule: str = (
        "at the posterior the score function with control variate and the pathwise one with log q "
        "along its path have no variance, and the pathwise one with the known entropy has some"
    )

    def find(self, given: Findings) -> Finding:
        rows = given.variances[given.variances["objective"] == OPTIMUM]
        table = rows.pivot_table("variance", "estimator", "parameter", "max").max(axis=1)
        least = table[[CONTROLLED, PATH_DERIVATIVE]].max()
        return bool(least == 0 < table[PATHWISE]), f"{least:.3g}; {PATHWISE} {table[PATHWISE]:.3g}"


@dataclass(frozen=True)
class RaoBlackwellLowersVariance:
    """Whether leaving out the terms of others lowers the variance, the more the more there are."""

    rule: str = "its share of the whole variance falls with every larger number of unknowns"

    def find(self, given: Findings) -> Finding:
        table = given.latents.pivot_table("exact", "latents", "estimator")
        share = (table[RAO_BLACKWELL] / table[SCORE]).sort_index()
        evidence = ", ".join(f"{value:.2g} of {count}" for count, value in share.items())
        if len(share) < 2:
            return None, f"one number of unknowns: {evidence}"
        return bool((share.diff().dropna() < 0).all()), evidence


@dataclass(frozen=True)
class EndsNearer:
    """Whether the pathwise gradient leads nearer to the posterior with as many draws.

    Attributes:
        other: the estimator that it is held against.
    """

    other: str

    @property
    def rule(self) -> str:
        return (
            f"the median of KL(q || posterior) is lower with the {PATHWISE} gradient than with "
            f"the {self.other}, at a tenth of the steps and at the end"
        )

    def find(self, given: Findings) -> Finding:
        table = given.convergence.pivot_table("median", "samples", "estimator")
        early = table.index[table.index >= table.index.max() / 10].min()
        rows = table.loc[[early, table.index.max()]]
        evidence = "; ".join(
            f"after {samples} samples {row[PATHWISE]:.2g} and {row[self.other]:.2g} nats"
            for samples, row in rows.iterrows()
        )
        return bool((rows[PATHWISE] < rows[self.other]).all()), evidence


def _away(rows: pd.DataFrame, mean: str, error: str, exact: str) -> pd.Series:
    """Distances in standard errors, which are never less than rounding leaves."""
    least = ROUNDING * rows[exact].abs().clip(lower=1.0)
    return (rows[mean] - rows[exact]).abs() / rows[error].clip(lower=least)
