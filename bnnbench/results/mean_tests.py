"""Student's t-tests of means over repetitions, of several together, and of equivalence.

They need means, standard deviations and sizes only, which is all that most sources print.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from bnnbench.experiment.answer_tables import Sample
from bnnbench.results.claims import NotTestable
from bnnbench.results.significance import holm

LEVEL = 0.05
"""Significance level of a claim, over all tests that it needs."""

T_TEST = f"(t-test over repetitions, p below {LEVEL}"
"""Begins the description of a test in a rule."""

ALONE, TOGETHER = f"{T_TEST})", f"{T_TEST} after Holm's correction)"
"""Descriptions of a single test, and of several together."""

UNDECIDED = "too few repetitions to decide"


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
        """Two-sided p of a true mean of zero; NaN if the variance is unknown or zero."""
        return 2 * self._tail(-abs(self.mean)) if self.stderr > 0 else math.nan

    def p_above(self, limit: float = 0.0) -> float:
        """Return p of a true mean of at most `limit`; 1 if the variance is unknown."""
        return self._tail(limit - self.mean)

    def p_below(self, limit: float = 0.0) -> float:
        """Return p of a true mean of at least `limit`; 1 if the variance is unknown."""
        return self._tail(self.mean - limit)

    def _tail(self, distance: float) -> float:
        """Return the probability of an error below `distance`."""
        from scipy.special import stdtr

        if not self.stderr >= 0:
            return 1.0
        if self.stderr == 0:
            return float(distance >= 0)
        return float(stdtr(self.freedom, distance / self.stderr))

    def half_width(self, level: float = LEVEL) -> float:
        """Return how far an interval reaches to either side, with `level` beyond each end."""
        from scipy.special import stdtrit

        return self.stderr * float(stdtrit(self.freedom, 1 - level)) if self.stderr else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval at `LEVEL`."""
        width = self.half_width(LEVEL / 2)
        return self.mean - width, self.mean + width

    def __str__(self) -> str:
        return f"{self.mean:+.4f}, p {self.p:.2g}"


def one_sample(sample: Sample) -> MeanTest:
    """Return the test of a mean, such as that of differences paired by repetition."""
    return MeanTest(sample.mean, sample.stderr, sample.size - 1)


def welch(first: Sample, second: Sample) -> MeanTest:
    """Return Welch's test of the first mean minus the second."""
    variances = np.array([first.stderr, second.stderr]) ** 2
    degrees = np.array([first.size - 1, second.size - 1])
    total = variances.sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # an unknown variance
        freedom = total**2 / (variances**2 / degrees).sum() if total else degrees.sum()
    return MeanTest(first.mean - second.mean, math.sqrt(total), float(freedom))


def significant(p: Iterable[float]) -> list[bool]:
    """Return which tests made together are significant, after Holm's correction.

    An unknown p, NaN, is not.
    """
    found = np.nan_to_num(np.array([*p], float), nan=1.0)
    return (holm(found) < LEVEL).tolist()


def all_positive(samples: Mapping[str, Sample]) -> tuple[list[bool], str]:
    """Test together whether means are above zero.

    Args:
        samples: differences paired by repetition, or other values of each repetition, by name.

    Returns:
        The decisions, and the means with their corrected p.

    Raises:
        NotTestable: with fewer than two repetitions.
    """
    if few := [name for name, sample in samples.items() if sample.size < 2]:
        raise NotTestable(f"fewer than two repetitions of {few[0]}")
    corrected = holm(np.array([one_sample(sample).p_above() for sample in samples.values()]))
    evidence = [
        f"{name}: {sample} (p {p:.2g})"
        for (name, sample), p in zip(samples.items(), corrected, strict=True)
    ]
    return (corrected < LEVEL).tolist(), "; ".join(evidence)


def are_within(
    tests: Iterable[MeanTest], margin: float, below: bool = True, above: bool = True
) -> bool | None:
    """Test together whether means are within a margin of zero (two one-sided tests each).

    Args:
        tests: the means or differences.
        margin: the largest absolute difference that does not count.
        below: whether the means must be above `-margin`.
        above: whether they must be below `margin`.

    Returns:
        True if all are. Otherwise None if none is shown to be outside and some interval is wider
        than the margin, so that there are too few repetitions to decide, else False.
    """
    found = [*tests]
    low, high = -margin if below else -math.inf, margin if above else math.inf
    if all(significant(max(test.p_above(low), test.p_below(high)) for test in found)):
        return True
    outside = significant(min(test.p_below(low), test.p_above(high)) for test in found)
    too_few = any(not test.half_width() < margin for test in found)
    return None if too_few and not any(outside) else False
