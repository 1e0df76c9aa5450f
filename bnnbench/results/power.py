"""Power of the correlated t-test: what a number of splits can detect.

The test assumes normal differences in which every two splits have the correlation `rho`, the
fraction of rows in the test part (Nadeau & Bengio 2003). Its statistic then has a non-central
Student distribution with centre `difference / standard error`, where the standard error is
`std * sqrt(1 / n + rho / (1 - rho))`. More splits of the same rows reduce only the first term, so
some differences cannot be detected with any number of splits.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd

from bnnbench.results.pairing import MIN_COMMON_SPLITS
from bnnbench.results.significance import SIGNIFICANCE_LEVEL, mean_error

POWER = 0.8
"""Probability of detecting a difference, of a two-sided test at `SIGNIFICANCE_LEVEL`."""

MAX_SPLITS = 1000
"""Numbers of splits up to this one are computed exactly, larger ones by the normal limit."""


@cache
def detectable_ratios() -> np.ndarray:
    """Return the difference in standard errors that n splits detect, for `n <= MAX_SPLITS`.

    Returns:
        `[MAX_SPLITS - MIN_COMMON_SPLITS + 1]`, first for `MIN_COMMON_SPLITS`, decreasing.
    """
    from scipy.special import nctdtrinc, stdtrit

    freedom = np.arange(MIN_COMMON_SPLITS, MAX_SPLITS + 1) - 1
    critical = stdtrit(freedom, 1 - SIGNIFICANCE_LEVEL / 2)
    return np.asarray(nctdtrinc(freedom, 1 - POWER, critical))


def limit_ratio() -> float:
    """Return the limit of `detectable_ratios` for infinitely many splits."""
    from scipy.special import ndtri

    return float(ndtri(1 - SIGNIFICANCE_LEVEL / 2) + ndtri(POWER))


def detectable_differences(pairs: pd.DataFrame) -> pd.Series:
    """Return the smallest true difference that each pair's splits detect with `POWER`.

    Args:
        pairs: rows with `splits`, at least `MIN_COMMON_SPLITS`, and `std` and `rho` as in
            `significance.COLUMNS`.
    """
    splits = pairs["splits"].clip(MIN_COMMON_SPLITS, MAX_SPLITS).to_numpy(int)
    ratios = detectable_ratios()[splits - MIN_COMMON_SPLITS]
    return mean_error(pairs["std"], pairs["splits"], pairs["rho"]) * ratios


def splits_needed(pairs: pd.DataFrame) -> pd.Series:
    """Return how many splits of the same data detect each observed difference with `POWER`.

    The observed difference and deviation are taken as the true ones, and the test fraction stays.

    Args:
        pairs: rows with `difference`, `std` and `rho` as in `significance.COLUMNS`.

    Returns:
        The numbers, at least `MIN_COMMON_SPLITS`; infinite if no number is enough.
    """
    difference, std, rho = (pairs[name].to_numpy(float) for name in ("difference", "std", "rho"))
    with np.errstate(divide="ignore", invalid="ignore"):  # identical differences
        effect = np.where(difference == 0, 0, np.abs(difference) / std)
        rest = (effect / limit_ratio()) ** 2 - rho / (1 - rho)
        result = np.where(rest > 0, np.ceil(1 / rest), math.inf)
    n = np.arange(MIN_COMMON_SPLITS, MAX_SPLITS + 1)[:, None]
    enough = mean_error(1.0, n, rho) * detectable_ratios()[:, None] <= effect
    few = enough.any(0)
    result[few] = MIN_COMMON_SPLITS + enough.argmax(0)[few]
    return pd.Series(result, pairs.index)


def with_power(pairs: pd.DataFrame) -> pd.DataFrame:
    """Add `detectable` and `needed` to pairs with `significance.COLUMNS`."""
    return pairs.assign(
        detectable=detectable_differences(pairs),
        needed=splits_needed(pairs),
    )
