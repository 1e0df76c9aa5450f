"""Student's t-tests of means over repetitions, of several together, and of equivalence.

Standard deviations are compared by F tests.

They need means, standard deviations and sizes only, which is all that most sources print.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd

from bnnbench.experiment.answer_tables import Sample
from bnnbench.notes import with_interval
from bnnbench.results.claims import CheckResult, NotTestable
from bnnbench.results.significance import holm

LEVEL = 0.05
"""Significance level of a claim, over all tests that it needs."""

T_TEST = f"(two-sided t-test over repetitions, p below {LEVEL}"
"""Begins the description of a test in a rule."""

ALONE, TOGETHER = f"{T_TEST})", f"{T_TEST} after Holm's correction)"
"""Descriptions of a single test, and of several together."""


F_TEST = f"two-sided F test of the variances, p below {LEVEL}"
"""Description of the test of two standard deviations, which assumes normal repetitions."""


class SignedTest(Protocol):
    """A two-sided test of zero."""

    @property
    def mean(self) -> float:
        """The number whose sign is decided."""

    @property
    def p(self) -> float:
        """Two-sided p; NaN if it is unknown."""


@dataclass(frozen=True)
class MeanTest:
    """A mean, or a difference of two, whose error has a Student distribution.

    Attributes:
        mean: the mean or difference.
        stderr: its standard error.
        freedom: degrees of freedom.
    """

    mean: float
    stderr: float
    freedom: float

    @property
    def p(self) -> float:
        """Two-sided p of a true mean of zero; NaN if the variance is unknown."""
        return self.p_against(0.0)

    def p_against(self, limit: float) -> float:
        """Return the two-sided p of a true mean of `limit`; NaN if the variance is unknown."""
        from scipy.special import stdtr

        distance = abs(self.mean - limit)
        if self.stderr == 0:
            return float(distance == 0)
        return 2 * float(stdtr(self.freedom, -distance / self.stderr))

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval at `LEVEL`."""
        from scipy.special import stdtrit

        quantile = float(stdtrit(self.freedom, 1 - LEVEL / 2)) if self.stderr else 0.0
        return self.mean - quantile * self.stderr, self.mean + quantile * self.stderr

    def __str__(self) -> str:
        return f"{self.mean:+.4f}, p {self.p:.2g}"


def one_sample(sample: Sample) -> MeanTest:
    """Return the test of a mean, such as that of differences paired by repetition."""
    return MeanTest(sample.mean, sample.stderr, sample.size - 1)


def against_value(test: MeanTest, value: float, stderr: float = 0.0) -> MeanTest:
    """Return the test of a mean against a value, such as a published one.

    Args:
        test: of the mean against zero.
        value: subtracted from the mean.
        stderr: its standard error, which is taken for exact: it has infinitely many degrees of
            freedom in the Welch-Satterthwaite equation.
    """
    error = math.hypot(test.stderr, stderr)
    freedom = test.freedom * (error / test.stderr) ** 4 if test.stderr else math.inf
    return MeanTest(test.mean - value, error, freedom)


def welch(first: Sample, second: Sample) -> MeanTest:
    """Return Welch's test of the first mean minus the second."""
    variances = np.array([first.stderr, second.stderr]) ** 2
    degrees = np.array([first.size - 1, second.size - 1])
    total = variances.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # an unknown variance
        freedom = total**2 / (variances**2 / degrees).sum() if total else degrees.sum()
    return MeanTest(first.mean - second.mean, math.sqrt(total), float(freedom))


def rank_test(first: pd.Series, second: pd.Series) -> MeanTest:
    """Return Welch's test of the ranks of the first values minus those of the second.

    Diverged values have no more influence than other large ones. Missing ones are left out.
    """
    values = [first.dropna(), second.dropna()]
    ranks = pd.concat(values).rank().to_numpy()
    return welch(*(Sample.of(own) for own in np.split(ranks, [len(values[0])])))


@dataclass(frozen=True)
class SpreadTest:
    """The F test of the variance of one sample against that of another.

    Attributes:
        first: sample whose variance is the numerator.
        second: an independent sample.
    """

    first: Sample
    second: Sample

    @property
    def mean(self) -> float:
        """Logarithm of the ratio of the unbiased variances; NaN if it is unknown."""
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = (one.size * np.square(one.stderr) for one in (self.first, self.second))
            return float(np.log(first / second))

    @property
    def p(self) -> float:
        """Two-sided p of equal variances; NaN if one is unknown or both are zero."""
        from scipy.special import fdtr, fdtrc

        point = self.first.size - 1, self.second.size - 1, math.exp(self.mean)
        return 2 * float(np.minimum(fdtr(*point), fdtrc(*point)))


def significant(p: Iterable[float]) -> list[bool]:
    """Return which tests made together are significant, after Holm's correction.

    An unknown p, NaN, is not.
    """
    found = np.nan_to_num(np.array([*p], float), nan=1.0)
    return (holm(found) < LEVEL).tolist()


def positive(tests: Iterable[SignedTest]) -> list[bool | None]:
    """Test together whether means are above zero; False if below, None if undecided."""
    found = [*tests]
    decided = significant(test.p for test in found)
    return [test.mean > 0 if one else None for test, one in zip(found, decided, strict=True)]


def all_positive(samples: Mapping[str, Sample]) -> tuple[list[bool | None], str]:
    """Test together whether means are above zero.

    Args:
        samples: differences paired by repetition, or other values of each repetition, by name.

    Returns:
        The decisions, as `positive`, and the means with their corrected p.

    Raises:
        NotTestable: with fewer than two repetitions.
    """
    if few := [name for name, sample in samples.items() if sample.size < 2]:
        raise NotTestable(f"fewer than two repetitions of {few[0]}")
    tests = [*map(one_sample, samples.values())]
    corrected = holm(np.array([test.p for test in tests]))
    evidence = [
        f"{name}: {sample} (p {p:.2g})"
        for (name, sample), p in zip(samples.items(), corrected, strict=True)
    ]
    return positive(tests), "; ".join(evidence)


def check_positive(values: pd.Series, units: str, name: str) -> CheckResult:
    """Check by a t-test whether the mean of independent values is positive.

    Args:
        values: missing ones are left out.
        units: what the values are of, such as `repetitions`.
        name: of the values, such as `AUROC of hmc - bbb`.

    Raises:
        NotTestable: with fewer than three values.
    """
    test, evidence = independent_values(values, units, name)
    (holds,) = positive([test])
    return holds, evidence


def independent_values(values: pd.Series, units: str, name: str) -> tuple[MeanTest, str]:
    """Return the test of the mean of independent values, and its numbers.

    Arguments and errors are those of `check_positive`.
    """
    values = values.dropna()
    if len(values) < 3:
        raise NotTestable(f"{units}: {len(values)}; a test needs 3")
    test = MeanTest(float(values.mean()), float(values.sem()), len(values) - 1)
    interval = with_interval(test.mean, *test.interval)
    return test, f"{name}: {interval} over {len(values)} {units}, p {test.p:.2g}"


def are_within(
    tests: Iterable[MeanTest], margin: float, below: bool = True, above: bool = True
) -> bool | None:
    """Check whether means are within a margin of zero.

    Args:
        tests: the means or differences.
        margin: the largest absolute difference that does not count.
        below: whether the means must be above `-margin`.
        above: whether they must be below `margin`.

    Returns:
        True if all intervals are inside, False if a mean is significantly outside, tested together,
        and None otherwise.
    """
    found = [*tests]
    low, high = -margin if below else -math.inf, margin if above else math.inf
    if all(low < test.interval[0] and test.interval[1] < high for test in found):
        return True
    ends = [low if test.mean < 0 else high for test in found]
    outside = significant(
        test.p_against(end) if abs(test.mean) > abs(end) else 1.0
        for test, end in zip(found, ends, strict=True)
    )
    return False if any(outside) else None
