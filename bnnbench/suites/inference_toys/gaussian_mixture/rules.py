"""Rules that check the sources' claims about coordinate ascent and stochastic VI."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult
from bnnbench.suites.inference_toys.gaussian_mixture import names

ROUNDING_TOLERANCE = 1e-8
"""Rounding error allowed in an ELBO of thousands of nats."""

GAP_TOLERANCE = 0.1
"""Difference in nats within which the gap equals log K!."""

MAX_DISTANCE_RATIO = 0.75
"""Largest ratio of late to early distance that counts as convergence. It is about a half for steps
`t^-0.75`, whose distances decrease as `t^-0.375`, and 1 for constant steps."""

NOT_RUN: CheckResult = (None, "not run")


def exact_of(answers: pd.DataFrame, quantity: str, approximation: str, setting: str) -> float:
    """Return the exact value of an answer; NaN if missing."""
    keys = {"quantity": quantity, "approximation": approximation, "setting": setting}
    selected = (answers[list(keys)] == list(keys.values())).all(axis=1)
    return float(answers.loc[selected, "exact"].iloc[0]) if selected.any() else float("nan")


@dataclass(frozen=True)
class ELBONeverDecreases:
    """The ELBO never decreases."""

    approximation: str
    settings: tuple[str, ...]
    rule: str = (
        f"no iteration of any start decreases the ELBO by more than {ROUNDING_TOLERANCE:g} nats"
    )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        decreases = [
            value_of(answers, names.LARGEST_DECREASE, self.approximation, setting)
            for setting in self.settings
        ]
        if any(map(isnan, decreases)):
            return NOT_RUN
        evidence = ", ".join(
            f"{decrease:.1e} ({setting})"
            for setting, decrease in zip(self.settings, decreases, strict=True)
        )
        return max(decreases) <= ROUNDING_TOLERANCE, f"largest decrease {evidence}"


@dataclass(frozen=True)
class IsLowerBound:
    """The best ELBO on the few points is below the exact log evidence."""

    rule: str = "on the few points, the best ELBO does not exceed the exact log evidence"

    def check(self, answers: pd.DataFrame) -> CheckResult:
        keys = (names.EVIDENCE, names.CAVI, names.FEW_POINTS)
        bound, exact = value_of(answers, *keys), exact_of(answers, *keys)
        if isnan(bound):
            return NOT_RUN
        return bound <= exact + ROUNDING_TOLERANCE, f"{bound:.4f}, exact {exact:.4f}"


@dataclass(frozen=True)
class FitsOneMode:
    """The gap between log evidence and ELBO is that of fitting one of `K!` equal modes."""

    rule: str = (
        f"on the few points, log evidence - ELBO is within {GAP_TOLERANCE:g} nats of log K!, the "
        "gap when q fits one of K! equal and separate modes"
    )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        gap = value_of(answers, names.GAP, names.CAVI, names.FEW_POINTS)
        labellings = value_of(answers, names.LABELLINGS, "K!", names.FEW_POINTS)
        if isnan(gap) or isnan(labellings):
            return NOT_RUN
        return abs(gap - labellings) <= GAP_TOLERANCE, f"gap {gap:.4f}, log K! {labellings:.4f}"


@dataclass(frozen=True)
class LocalOptima:
    """Starts converge to different optima."""

    rule: str = "on the many points, not all starts reach the best ELBO"

    def check(self, answers: pd.DataFrame) -> CheckResult:
        fraction = value_of(answers, names.BEST_FRACTION, names.CAVI, names.MANY_POINTS)
        best = value_of(answers, names.EVIDENCE, names.CAVI, names.MANY_POINTS)
        worst = value_of(answers, names.WORST_ELBO, names.CAVI, names.MANY_POINTS)
        if isnan(fraction):
            return NOT_RUN
        return fraction < 1, f"{fraction:.0%} reach the best, {best:.1f}; the worst is {worst:.1f}"


@dataclass(frozen=True)
class UnderestimatesVariance:
    """The factor of a mean is narrower than its exact posterior."""

    rule: str = (
        "on the few points, the standard deviation of the lowest mean is below that of its exact "
        "posterior, with components identified by the order of their means"
    )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        keys = (names.LOWEST_MEAN_STD, names.CAVI, names.FEW_POINTS)
        std, exact = value_of(answers, *keys), exact_of(answers, *keys)
        return NOT_RUN if isnan(std) else (std < exact, f"{std:.4f}, exact {exact:.4f}")


@dataclass(frozen=True)
class Converges:
    """Stochastic VI converges to CAVI's fixed point, or does not."""

    schedule: str
    converges: bool

    @property
    def rule(self) -> str:
        comparison = "at most" if self.converges else "more than"
        return (
            "the mean distance to CAVI's fixed point in the last tenth of the passes is "
            f"{comparison} {MAX_DISTANCE_RATIO:g} of that in the second tenth"
        )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        early, late = (
            value_of(answers, quantity, names.STOCHASTIC_VI, self.schedule)
            for quantity in (names.EARLY_DISTANCE, names.LATE_DISTANCE)
        )
        if isnan(early) or isnan(late):
            return NOT_RUN
        return (late <= MAX_DISTANCE_RATIO * early) == self.converges, f"{early:.4f} to {late:.4f}"


@dataclass(frozen=True)
class FasterThanCAVI:
    """Stochastic VI gets close to the fixed point in fewer passes than CAVI."""

    rule: str = (
        "with decreasing steps, stochastic VI is within 0.1 of CAVI's fixed point after fewer "
        "passes through the data than CAVI"
    )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        stochastic = value_of(answers, names.PASSES, names.STOCHASTIC_VI, names.DECREASING)
        cavi = value_of(answers, names.PASSES, names.CAVI, names.MANY_POINTS)
        if isnan(stochastic) or isnan(cavi):
            return NOT_RUN
        return stochastic < cavi, f"{stochastic:.2f} passes vs {cavi:.0f}"


@dataclass(frozen=True)
class MaximisesEvidence:
    """ELBO and evidence have the same maximiser."""

    rule: str = "the fitted prior variance is within 5 % of the maximiser of the exact evidence"

    def check(self, answers: pd.DataFrame) -> CheckResult:
        keys = (names.PRIOR_VARIANCE, names.VARIATIONAL_EM, names.FEW_POINTS)
        fitted, exact = value_of(answers, *keys), exact_of(answers, *keys)
        if isnan(fitted):
            return NOT_RUN
        return abs(fitted / exact - 1) <= 0.05, f"{fitted:.4f}, exact {exact:.4f}"
