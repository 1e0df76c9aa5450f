"""Claims about gradient estimators, checked on the saved tables of a run."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.claims import MAJORITY, CheckResult, Claims
from bnnbench.results.saved_tables import SavedTables
from bnnbench.suites.inference_toys.checks import BOOK
from bnnbench.suites.inference_toys.gradient_variance import tables
from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    CONTROL_VARIATE,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
)

MAX_STANDARD_ERRORS = 5.0
"""A mean differs if it is off by more standard errors; the false alarm rate is one in a million."""

RELATIVE_TOLERANCE = 1e-9
"""Relative error of a gradient allowed for quadrature and rounding."""

PATHWISE_IS_CLOSER = f"the median KL(q || posterior) is lower with the {PATHWISE} gradient than"

claims = Claims()


@claims(
    "Gradient estimates by eq. 3.77 are biased because of the logarithm",
    source=f"{BOOK}, 3.2.4.1",
    rule="with all rows or with minibatches, the mean differs from the gradient by more than "
    f"{MAX_STANDARD_ERRORS:g} standard errors, or the mean over all minibatches (by quadrature) by "
    f"a relative error of more than {RELATIVE_TOLERANCE:g}",
)
def is_biased_by_logarithm(run: SavedTables) -> CheckResult:
    rows = run[tables.BIAS]
    # The mean over all minibatches has no standard error.
    distance = ((rows["mean"] - rows["gradient"]).abs() / rows["error"]).max()
    enumerated = rows[rows["error"].isna()]
    error = (enumerated["mean"] / enumerated["gradient"] - 1).abs().max()
    evidence = f"{distance:.1f} standard errors; relative error over all minibatches {error:.0e}"
    return bool(distance > MAX_STANDARD_ERRORS or error > RELATIVE_TOLERANCE), evidence


@claims(
    "The score-function estimator generally has a higher variance than the pathwise estimator",
    source=f"{BOOK}, A.1",
    rule=f"its variance exceeds that of the pathwise estimator in at least {MAJORITY:.0%} of "
    "setups and parameters",
)
def has_higher_variance(run: SavedTables) -> CheckResult:
    table = _by_estimator(run)
    higher = table[SCORE] > table[PATHWISE]
    others = sorted({f"{name}, std {scale:.3g}" for name, scale, _ in table.index[~higher]})
    exceptions = f"; not for {'; '.join(others)}" if others else ""
    return bool(higher.mean() >= MAJORITY), f"in {higher.sum()} of {len(higher)}{exceptions}"


@claims(
    "Control variates reduce the variance of the score-function estimator",
    source=f"{BOOK}, 3.2.4.1, Ranganath et al. 2014",
    rule="the optimal control variate, which never increases the variance, reduces it by more than "
    "half in the median over setups and parameters",
)
def control_variate_reduces_variance(run: SavedTables) -> CheckResult:
    table = _by_estimator(run)
    ratio = table[CONTROL_VARIATE] / table[SCORE]
    evidence = f"reduced to {ratio.median():.0%} in the median, range {ratio.min():.0%}"
    return bool(ratio.median() < 0.5), f"{evidence} to {ratio.max():.0%}"


@claims(
    "With equal samples, the pathwise gradient converges closer than the score function",
    source=f"{BOOK}, 3.2.4.1",
    rule=f"{PATHWISE_IS_CLOSER} with {SCORE}, after a tenth of the steps and at the end",
    other=SCORE,
)
@claims(
    "With equal samples, the pathwise gradient converges closer than the control variate",
    source=f"{BOOK}, 3.2.4.1",
    rule=f"{PATHWISE_IS_CLOSER} with {CONTROL_VARIATE}, after a tenth of the steps and at the end",
    other=CONTROL_VARIATE,
)
def converges_closer(run: SavedTables, other: str) -> CheckResult:
    table = run[tables.CONVERGENCE].pivot_table("median", "samples", "estimator")
    early = table.index[table.index >= table.index.max() / 10].min()
    rows = table.loc[[early, table.index.max()]]
    evidence = "; ".join(
        f"{row[PATHWISE]:.2g} vs {row[other]:.2g} nats after {samples} samples"
        for samples, row in rows.iterrows()
    )
    return bool((rows[PATHWISE] < rows[other]).all()), evidence


@claims(
    "At the posterior, estimators that sample both log p and log q have zero variance",
    source=f"{BOOK}, eq. 3.77, Roeder et al. 2017",
    rule="at the posterior, the score function (3.77), with and without control variate, and the "
    "path derivative have zero variance",
)
def has_zero_variance_at_posterior(run: SavedTables) -> CheckResult:
    rows = run.rows(tables.VARIANCES, objective=tables.OPTIMUM)
    table = rows.groupby("estimator")["variance"].max()
    variances = table[[SCORE, CONTROL_VARIATE, PATH_DERIVATIVE]]
    evidence = ", ".join(f"{name} {variance:.3g}" for name, variance in variances.items())
    return bool((variances == 0).all()), evidence


def _by_estimator(run: SavedTables) -> pd.DataFrame:
    """Return the exact variances by setup and parameter (rows) and estimator.

    Setups that differ in the number of samples count once: the ratios do not depend on it.
    """
    keys = ["objective", "scale", "parameter"]
    return run[tables.VARIANCES].pivot_table("exact", keys, "estimator", sort=False)
