"""Means of repetitions and tests between them, from means and standard deviations alone.

The thesis prints no more than these, so its own numbers are put to the same tests as ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sample:
    """What repetitions of one configuration came to.

    Attributes:
        mean: over repetitions.
        std: standard deviation over repetitions with divisor `size`, as the thesis has it.
        size: how many repetitions.
    """

    mean: float
    std: float
    size: int

    @property
    def stderr(self) -> float:
        """The standard error of the mean, from the unbiased variance; NaN of a single one."""
        return self.std / math.sqrt(self.size - 1) if self.size > 1 else math.nan

    @property
    def unbiased(self) -> float:
        """The standard deviation with divisor `size - 1`; NaN of a single one."""
        return self.stderr * math.sqrt(self.size)


@dataclass(frozen=True)
class Difference:
    """One mean less another, and Welch's test of whether that is chance.

    Attributes:
        value: first less second.
        t: in standard errors of the difference.
        p: two-sided.
    """

    value: float
    t: float
    p: float


def sample_of(values: Sequence[float]) -> Sample:
    """Mean and spread of the finite ones among some values; NaN where there is none."""
    kept = np.asarray(values, float)
    kept = kept[np.isfinite(kept)]
    if not len(kept):
        return Sample(math.nan, math.nan, 0)
    return Sample(float(kept.mean()), float(kept.std()), len(kept))


def welch(first: Sample, second: Sample) -> Difference:
    """Welch's t-test of two means; no variance is taken to be shared.

    Returns:
        `t` and `p` NaN where a variance is not known, or both are zero.
    """
    from scipy.stats import ttest_ind_from_stats

    value = first.mean - second.mean
    known = min(first.size, second.size) > 1 and first.std + second.std > 0
    if not known:
        return Difference(value, math.nan, math.nan)
    found = ttest_ind_from_stats(
        first.mean, first.unbiased, first.size,
        second.mean, second.unbiased, second.size, equal_var=False,
    )  # fmt: skip
    return Difference(value, float(found.statistic), float(found.pvalue))


def f_test(samples: Sequence[Sample]) -> tuple[float, float]:
    """One-way analysis of variance: `F` of several means and its p-value."""
    from scipy.stats import f

    total = sum(one.size for one in samples)
    grand = sum(one.size * one.mean for one in samples) / total
    between = sum(one.size * (one.mean - grand) ** 2 for one in samples)
    within = sum(one.size * one.std**2 for one in samples)
    free = len(samples) - 1, total - len(samples)
    value = (between / free[0]) / (within / free[1])
    return value, float(f.sf(value, *free))
