"""Statistical tests from means and standard deviations, which is all that the thesis prints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bnnbench.results.saved_run import Sample


@dataclass(frozen=True)
class WelchTest:
    """Welch's test of the difference of two means.

    Attributes:
        difference: first mean minus second.
        t: difference in standard errors.
        p: two-sided p-value.
    """

    difference: float
    t: float
    p: float

    def __str__(self) -> str:
        return f"{self.difference:+.4f}, p {self.p:.2g}"


def with_std(sample: Sample) -> str:
    """Return the mean, standard deviation and size of a sample in words."""
    return f"{sample.mean:.4f} (sd {sample.std:.4f}, n {sample.size})"


def welch(first: Sample, second: Sample) -> WelchTest:
    """Return Welch's t-test of two means.

    `t` and `p` are NaN if a variance is unknown or both are zero.
    """
    from scipy.stats import ttest_ind_from_stats

    difference = first.mean - second.mean
    known = min(first.size, second.size) > 1 and first.std + second.std > 0
    if not known:
        return WelchTest(difference, math.nan, math.nan)
    test = ttest_ind_from_stats(
        first.mean, first.unbiased_std, first.size,
        second.mean, second.unbiased_std, second.size, equal_var=False,
    )  # fmt: skip
    return WelchTest(difference, float(test.statistic), float(test.pvalue))


def paired_p(differences: Sample) -> float:
    """Return the two-sided p of a mean difference of zero; NaN if the variance is unknown or 0."""
    from scipy.stats import t

    if not differences.stderr > 0:
        return math.nan
    return 2 * float(t.sf(abs(differences.mean / differences.stderr), differences.size - 1))


def difference_interval(first: Sample, second: Sample) -> tuple[float, float]:
    """Return Welch's 95 % confidence interval of the first mean minus the second."""
    from scipy.stats import t

    variances = np.array([first.stderr, second.stderr]) ** 2
    freedom = variances.sum() ** 2 / (variances**2 / [first.size - 1, second.size - 1]).sum()
    half_width = math.sqrt(variances.sum()) * float(t.ppf(0.975, freedom))
    difference = first.mean - second.mean
    return difference - half_width, difference + half_width
