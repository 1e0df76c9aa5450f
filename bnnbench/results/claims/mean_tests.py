"""Student's t-tests of means over repetitions, of several together, and of equivalence.

Standard deviations are compared by F tests.

They need means, standard deviations and sizes only, which is all that most sources print.

If m tests together leave a decision open, it is `Undecided`, with the number of repetitions that
would settle it. This number is conservative: it is computed at the level `LEVEL / m`, the smallest
of Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.notes import with_interval
from bnnbench.results.claims.claims import CheckResult, TooFew, all_hold
from bnnbench.results.compare.power import POWER, repetitions_needed, variances_needed
from bnnbench.results.compare.significance import holm
from bnnbench.results.compare.undecided import NO_SPREAD, REPETITIONS, Decision, Undecided

LEVEL = 0.05
"""Significance level of a claim, over all tests that it needs."""

T_TEST = f"(two-sided t-test over repetitions, p below {LEVEL}"
"""Begins the description of a test in a rule."""

ALONE, TOGETHER = f"{T_TEST})", f"{T_TEST} after Holm's correction)"
"""Descriptions of a single test, and of several together."""


ROUNDING = 1e-12
"""Standard error in units of the mean up to which values are equal."""

F_TEST = f"two-sided F test of the variances, p below {LEVEL}"
"""Description of the test of two standard deviations, which assumes normal repetitions."""


@dataclass(frozen=True)
class MeanTest:
    """A mean, or a difference of two, whose error has a Student distribution.

    Values that are all equal, such as counts, have no such error. They are tested by their signs,
    so that two of them decide nothing.

    Attributes:
        mean: the mean or difference.
        stderr: its standard error.
        freedom: degrees of freedom.
        std: standard deviation of one repetition, of the difference of both if they are two
            samples; by default that of a single sample.
        units: what is repeated.
    """

    mean: float
    stderr: float
    freedom: float
    std: float | None = None
    units: str = REPETITIONS

    @property
    def are_equal(self) -> bool:
        """Whether the values do not differ but for rounding."""
        return self.stderr <= ROUNDING * abs(self.mean)

    @property
    def p(self) -> float:
        """Two-sided p of a true mean of zero; NaN if the variance is unknown."""
        return self.p_against(0.0)

    def p_against(self, limit: float) -> float:
        """Return the two-sided p of a true mean of `limit`; NaN if the variance is unknown."""
        from scipy.special import stdtr

        distance = abs(self.mean - limit)
        if self.are_equal:
            return min(1.0, 2 * 0.5 ** (self.freedom + 1)) if distance else 1.0
        return 2 * float(stdtr(self.freedom, -distance / self.stderr))

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval at `LEVEL`."""
        from scipy.special import stdtrit

        quantile = 0.0 if self.are_equal else float(stdtrit(self.freedom, 1 - LEVEL / 2))
        return self.mean - quantile * self.stderr, self.mean + quantile * self.stderr

    def is_between(self, low: float, high: float) -> bool:
        """Return whether the whole interval is between two limits."""
        (first, last), ends = self.interval, (low, high)
        enough = not self.are_equal or all(self.p_against(end) < LEVEL for end in ends)
        return low < first and last < high and enough

    def undecided(self, level: float, limit: float = 0.0, power: float = POWER) -> Undecided:
        """Return how many repetitions would show that the mean is not `limit`.

        Two samples count as one of their differences. This has fewer degrees of freedom, so the
        number is conservative.

        Args:
            level: of the test.
            limit: the mean that it rejects.
            power: the probability that it does.
        """
        std = self.stderr * math.sqrt(self.freedom + 1) if self.std is None else self.std
        if math.isnan(std):
            return NO_SPREAD
        distance = abs(self.mean - limit)
        if self.are_equal:
            needed = math.ceil(math.log2(2 / level)) if distance else math.inf
        else:
            needed = repetitions_needed(distance / std, level, power)
        return Undecided(needed, self.units, expected=self.mean > limit)

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
        stderr: its standard error, which is treated as exact: it has infinitely many degrees of
            freedom in the Welch-Satterthwaite equation.
    """
    error = math.hypot(test.stderr, stderr)
    if test.stderr:
        freedom = test.freedom * (error / test.stderr) ** 4
    else:
        freedom = math.inf if stderr else test.freedom
    return MeanTest(test.mean - value, error, freedom)


def welch(first: Sample, second: Sample) -> MeanTest:
    """Return Welch's test of the first mean minus the second."""
    variances = np.array([first.stderr, second.stderr]) ** 2
    degrees = np.array([first.size - 1, second.size - 1])
    total = variances.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # an unknown variance
        freedom = total**2 / (variances**2 / degrees).sum() if total else degrees.min()
    std = math.sqrt(sum(one.size * one.stderr**2 for one in (first, second)))
    return MeanTest(first.mean - second.mean, math.sqrt(total), float(freedom), std)


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
        # fdtr of infinity is NaN in scipy 1.13.
        return 2 * float(np.fmin(fdtr(*point), fdtrc(*point)))

    def undecided(self, level: float) -> Undecided:
        """Return how many repetitions of each would show that the variances differ."""
        if math.isnan(self.mean):
            return NO_SPREAD
        needed = variances_needed(math.exp(abs(self.mean)), level)
        return Undecided(needed, expected=self.mean > 0)


def significant(p: Iterable[float]) -> list[bool]:
    """Return which tests made together are significant, after Holm's correction.

    An unknown p, NaN, is not.
    """
    found = np.nan_to_num(np.array([*p], float), nan=1.0)
    return [bool(adjusted < LEVEL) for adjusted in holm(found)]


def positive(tests: Iterable[MeanTest | SpreadTest]) -> list[bool | Undecided]:
    """Test together whether means are above zero; False if below."""
    found = [*tests]
    decided = significant(test.p for test in found)
    return [
        test.mean > 0 if one else test.undecided(LEVEL / len(found))
        for test, one in zip(found, decided, strict=True)
    ]


def all_positive(samples: Mapping[str, Sample]) -> tuple[list[bool | Undecided], str]:
    """Test together whether means are above zero.

    Args:
        samples: differences paired by repetition, or other values of each repetition, by name.

    Returns:
        The decisions, as `positive`, and the means with their corrected p.

    Raises:
        TooFew: without repetitions.
    """
    if few := [name for name, sample in samples.items() if sample.size == 0]:
        raise TooFew(f"no finished repetition: {few[0]}", NO_SPREAD)
    tests = [*map(one_sample, samples.values())]
    corrected = holm(np.nan_to_num([test.p for test in tests], nan=1.0))
    evidence = [
        f"{name}: {sample}" + ("" if math.isnan(test.p) else f" (p {p:.2g})")
        for (name, sample), test, p in zip(samples.items(), tests, corrected, strict=True)
    ]
    return positive(tests), "; ".join(evidence)


def check_positive(values: pd.Series, units: str, name: str) -> CheckResult:
    """Check by a t-test whether the mean of independent values is positive.

    Args:
        values: missing ones are left out.
        units: what each value belongs to, such as `repetitions`.
        name: of the values, such as `AUROC of hmc - bbb`.

    Raises:
        TooFew: with fewer than three values.
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
        raise TooFew(f"{units}: {len(values)}", Undecided(3, units, has_spread=False))
    test = MeanTest(float(values.mean()), float(values.sem()), len(values) - 1, units=units)
    interval = with_interval(test.mean, *test.interval)
    return test, f"{name}: {interval} over {len(values)} {units}, p {test.p:.2g}"


def are_within(
    tests: Iterable[MeanTest], margin: float, below: bool = True, above: bool = True
) -> Decision:
    """Check whether means are within a margin of zero.

    Args:
        tests: the means or differences.
        margin: the largest absolute difference that does not count.
        below: whether the means must be above `-margin`.
        above: whether they must be below `margin`.

    Returns:
        True if all intervals are inside, False if a mean is significantly outside, tested together,
        and otherwise how many repetitions would decide.
    """
    found = [*tests]
    low, high = -margin if below else -math.inf, margin if above else math.inf
    ends = [low if test.mean < 0 else high for test in found]
    outside = significant(
        test.p_against(end) if abs(test.mean) > abs(end) else 1.0
        for test, end in zip(found, ends, strict=True)
    )
    if any(outside):
        return False
    level = LEVEL / len(found)
    return all_hold(
        test.is_between(low, high) or _undecided_within(test, low, high, level) for test in found
    )


def _undecided_within(test: MeanTest, low: float, high: float, level: float) -> Undecided:
    """Return how many repetitions would show that a mean is between two limits, or is not.

    Args:
        test: of the mean.
        low: the lower limit.
        high: the upper limit.
        level: of the test that the mean is outside. The interval that must be inside is that at
            `LEVEL`.
    """
    ends = [end for end in (low, high) if math.isfinite(end)]
    if not low < test.mean < high:
        nearest = min(ends, key=lambda end: abs(test.mean - end))
        return replace(test.undecided(level, nearest), expected=False)
    # The interval must not reach either end, so that the probabilities of reaching one add up.
    power = 1 - (1 - POWER) / len(ends)
    needed = (test.undecided(LEVEL, end, power) for end in ends)
    return replace(max(needed, key=lambda one: one.needed), expected=True)
