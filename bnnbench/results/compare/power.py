"""Power of the correlated t-test: what a number of splits can detect.

The test assumes normal differences in which every two splits have the correlation `rho`, the
fraction of rows in the test part (Nadeau & Bengio 2003). Its statistic then has a non-central
Student distribution with centre `difference / standard error`, where the standard error is
`std * sqrt(1 / n + rho / (1 - rho))`. More splits of the same rows reduce only the first term, so
some differences cannot be detected with any number of splits. Independent repetitions are the case
`rho = 0`, Student's t-test.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd

from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS
from bnnbench.results.compare.significance import SIGNIFICANCE_LEVEL, mean_error

POWER = 0.8
"""Probability of detecting a difference, of a two-sided test at `SIGNIFICANCE_LEVEL`."""

MAX_SPLITS = 1000
"""Numbers of splits up to this one are computed exactly, larger ones by the normal limit."""


@cache
def detectable_ratios(
    level: float = SIGNIFICANCE_LEVEL, power: float = POWER, fewest: int = MIN_COMMON_SPLITS
) -> np.ndarray:
    """Return the difference in standard errors that n splits detect, for `n <= MAX_SPLITS`.

    Args:
        level: of the two-sided test.
        power: the probability of detecting it.
        fewest: the first n, at least 2.

    Returns:
        `[MAX_SPLITS - fewest + 1]`, decreasing.
    """
    from scipy.special import nctdtrinc, stdtrit

    freedom = np.arange(fewest, MAX_SPLITS + 1) - 1
    critical = stdtrit(freedom, 1 - level / 2)
    return np.asarray(nctdtrinc(freedom, 1 - power, critical))


def limit_ratio(level: float = SIGNIFICANCE_LEVEL, power: float = POWER) -> float:
    """Return the limit of `detectable_ratios` for infinitely many splits."""
    from scipy.special import ndtri

    return float(ndtri(1 - level / 2) + ndtri(power))


def detectable_differences(pairs: pd.DataFrame) -> pd.Series:
    """Return the smallest true difference that each pair's splits detect with `POWER`.

    Args:
        pairs: rows with `splits`, at least `MIN_COMMON_SPLITS`, and `std` and `rho` as in
            `significance.COLUMNS`.
    """
    splits = pairs["splits"].clip(MIN_COMMON_SPLITS, MAX_SPLITS).to_numpy(int)
    ratios = detectable_ratios()[splits - MIN_COMMON_SPLITS]
    return mean_error(pairs["std"], pairs["splits"], pairs["rho"]) * ratios


def splits_needed(pairs: pd.DataFrame, level: float = SIGNIFICANCE_LEVEL) -> pd.Series:
    """Return how many splits of the same data detect each observed difference with `POWER`.

    The observed difference and deviation are taken as the true ones, and the test fraction stays.

    Args:
        pairs: rows with `difference`, `std` and `rho` as in `significance.COLUMNS`.
        level: of the two-sided test.

    Returns:
        The numbers, at least `MIN_COMMON_SPLITS`; infinite if no number is enough.
    """
    difference, std, rho = (pairs[name].to_numpy(float) for name in ("difference", "std", "rho"))
    with np.errstate(divide="ignore", invalid="ignore"):  # identical differences
        effects = np.where(difference == 0, 0, np.abs(difference) / std)
    return pd.Series(_sizes_needed(effects, rho, level, POWER, MIN_COMMON_SPLITS), pairs.index)


def repetitions_needed(
    effect: float, level: float = SIGNIFICANCE_LEVEL, power: float = POWER
) -> float:
    """Return how many independent repetitions detect a mean by Student's t-test.

    Args:
        effect: the true mean in standard deviations of one repetition.
        level: of the two-sided test.
        power: the probability of detecting it.

    Returns:
        The number, at least 2; infinite if the mean is zero.
    """
    return float(_sizes_needed(np.array([abs(effect)]), np.zeros(1), level, power, 2)[0])


def variances_needed(ratio: float, level: float = SIGNIFICANCE_LEVEL) -> float:
    """Return how many repetitions of each of two samples detect a ratio of variances by an F test.

    Args:
        ratio: the true ratio of the larger variance to the smaller one.
        level: of the two-sided test.

    Returns:
        The smallest number with `POWER`, above `MAX_SPLITS` by the normal limit; infinite for equal
        variances.
    """
    from scipy.special import fdtrc, fdtri

    if ratio == 1:
        return math.inf
    n = np.arange(2, MAX_SPLITS + 1)
    freedom = n - 1.0
    enough = fdtrc(freedom, freedom, fdtri(freedom, freedom, 1 - level / 2) / ratio) >= POWER
    if enough.any():
        return float(n[enough.argmax()])
    # The logarithm of a ratio of variances has the variance 4 / n.
    return max(MAX_SPLITS + 1.0, math.ceil(4 * (limit_ratio(level) / math.log(ratio)) ** 2))


def _sizes_needed(
    effects: np.ndarray, rho: np.ndarray, level: float, power: float, fewest: int
) -> np.ndarray:
    """Return how many repetitions with correlation `rho` detect each effect.

    Args:
        effects: absolute differences in standard deviations, `[K]`.
        rho: correlations, `[K]`.
        level: of the two-sided test.
        power: the probability of detecting them.
        fewest: the smallest number.
    """
    ratios = detectable_ratios(level, power, fewest)
    with np.errstate(divide="ignore"):  # no effect
        rest = (effects / limit_ratio(level, power)) ** 2 - rho / (1 - rho)
        result = np.where(rest > 0, np.ceil(1 / rest), math.inf)
    n = np.arange(fewest, MAX_SPLITS + 1, dtype=float)[:, None]
    enough = mean_error(np.ones_like(n), n, rho) * ratios[:, None] <= effects
    few = enough.any(0)
    result[few] = fewest + enough.argmax(0)[few]
    return result


def trials_needed(
    share: float, limit: float, level: float = SIGNIFICANCE_LEVEL, power: float = POWER
) -> float:
    """Return how many trials show by a binomial test that a share is not `limit`.

    Args:
        share: the true share of successes.
        limit: the share that the test rejects, between 0 and 1.
        level: of the two-sided test.
        power: the probability that it does.

    Returns:
        The smallest number, above `MAX_SPLITS` by the normal limit; infinite if the share is
        `limit`.
    """
    from scipy.special import bdtr, bdtrc

    if share < limit:
        return trials_needed(1 - share, 1 - limit, level, power)
    if share == limit:
        return math.inf
    n = np.arange(1, MAX_SPLITS + 1)
    # The least count whose upper tail is at most half of the level; n + 1 if there is none.
    low, high = np.zeros_like(n), n + 1
    while (low < high).any():
        middle = (low + high) // 2
        rejects = np.where(middle > n, True, bdtrc(middle - 1, n, limit) <= level / 2)
        low, high = np.where(rejects, low, middle + 1), np.where(rejects, middle, high)
    enough = (high <= n) & (1 - bdtr(high - 1.0, n, share) >= power)
    if enough.any():
        return float(n[enough.argmax()])
    errors = limit_ratio(level, power) / (share - limit)
    return max(MAX_SPLITS + 1.0, math.ceil(errors**2 * share * (1 - share)))


def with_power(pairs: pd.DataFrame) -> pd.DataFrame:
    """Add `detectable` and `needed` to pairs with `significance.COLUMNS`."""
    return pairs.assign(
        detectable=detectable_differences(pairs),
        needed=splits_needed(pairs),
    )
