"""The rules by which what the sources say of coordinate ascent and stochastic VI is judged."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import Finding
from bnnbench.suites.inference_toys.gaussian_mixture import tables

ROUNDING = 1e-8
"""Nats that rounding may move an ELBO of thousands."""

CLOSE = 0.1
"""Nats by which a gap may differ from what explains it."""

SHRUNK = 0.75
"""Of a distance, from the second tenth of the passes to the last: half of it is due to steps
`t^-0.75`, whose distances fall as `t^-0.375`, and all of it to constant ones."""

NOT_RUN: Finding = (None, "not run")


def exact_of(answers: pd.DataFrame, quantity: str, approximation: str, setting: str) -> float:
    """The exact value beside an answer; NaN if missing."""
    words = {"quantity": quantity, "approximation": approximation, "setting": setting}
    chosen = (answers[list(words)] == list(words.values())).all(axis=1)
    return float(answers.loc[chosen, "exact"].iloc[0]) if chosen.any() else float("nan")


@dataclass(frozen=True)
class NeverFalls:
    """Whether the ELBO never falls."""

    approximation: str
    settings: tuple[str, ...]
    rule: str = f"no iteration of any start lowers the ELBO by more than {ROUNDING:g} nats"

    def find(self, answers: pd.DataFrame) -> Finding:
        falls = [value_of(answers, tables.FALL, self.approximation, s) for s in self.settings]
        if any(map(isnan, falls)):
            return NOT_RUN
        evidence = ", ".join(f"{s} {f:.1e}" for s, f in zip(self.settings, falls, strict=True))
        return max(falls) <= ROUNDING, f"largest fall: {evidence}"


@dataclass(frozen=True)
class BelowEvidence:
    """Whether the best ELBO of the few points lies below the exact log evidence."""

    rule: str = "on the few points the best ELBO is at most the log evidence by enumeration"

    def find(self, answers: pd.DataFrame) -> Finding:
        place = (tables.EVIDENCE, tables.ASCENT, tables.FEW_POINTS)
        bound, exact = value_of(answers, *place), exact_of(answers, *place)
        if isnan(bound):
            return NOT_RUN
        return bound <= exact + ROUNDING, f"{bound:.4f} against {exact:.4f}"


@dataclass(frozen=True)
class OneMode:
    """Whether what the ELBO misses is one of `K!` equal modes."""

    rule: str = (
        f"on the few points log evidence - ELBO is within {CLOSE:g} nats of log K!, which a factor "
        "on one of K! equal and separate modes costs"
    )

    def find(self, answers: pd.DataFrame) -> Finding:
        gap = value_of(answers, tables.GAP, tables.ASCENT, tables.FEW_POINTS)
        labellings = value_of(answers, tables.LABELLINGS, "K!", tables.FEW_POINTS)
        if isnan(gap) or isnan(labellings):
            return NOT_RUN
        return abs(gap - labellings) <= CLOSE, f"gap {gap:.4f}, log K! {labellings:.4f}"


@dataclass(frozen=True)
class LocalOptima:
    """Whether starts end at different values."""

    rule: str = "on the many points not all starts end at the best ELBO"

    def find(self, answers: pd.DataFrame) -> Finding:
        share = value_of(answers, tables.BEST_SHARE, tables.ASCENT, tables.MANY_POINTS)
        best = value_of(answers, tables.EVIDENCE, tables.ASCENT, tables.MANY_POINTS)
        worst = value_of(answers, tables.WORST, tables.ASCENT, tables.MANY_POINTS)
        if isnan(share):
            return NOT_RUN
        return share < 1, f"{share:.0%} at the best, {best:.1f}; the worst at {worst:.1f}"


@dataclass(frozen=True)
class TooNarrow:
    """Whether the factor of a mean is narrower than its exact posterior."""

    rule: str = (
        "on the few points the lowest mean's factor has a smaller deviation than its exact "
        "posterior, components told apart by the order of their means"
    )

    def find(self, answers: pd.DataFrame) -> Finding:
        place = (tables.SPREAD, tables.ASCENT, tables.FEW_POINTS)
        spread, exact = value_of(answers, *place), exact_of(answers, *place)
        return NOT_RUN if isnan(spread) else (spread < exact, f"{spread:.4f} against {exact:.4f}")


@dataclass(frozen=True)
class Converges:
    """Whether stochastic VI comes ever closer to coordinate ascent's fixed point, or does not."""

    schedule: str
    converges: bool

    @property
    def rule(self) -> str:
        least = "at most" if self.converges else "more than"
        return (
            f"from the second tenth of the passes to the last the mean distance to CAVI's fixed "
            f"point shrinks to {least} {SHRUNK:g} of itself"
        )

    def find(self, answers: pd.DataFrame) -> Finding:
        early, end = (
            value_of(answers, quantity, tables.STOCHASTIC_VI, self.schedule)
            for quantity in (tables.EARLY_DISTANCE, tables.DISTANCE)
        )
        if isnan(early) or isnan(end):
            return NOT_RUN
        return (end <= SHRUNK * early) == self.converges, f"{early:.4f}, then {end:.4f}"


@dataclass(frozen=True)
class Sooner:
    """Whether stochastic VI is near the fixed point after fewer passes than coordinate ascent."""

    rule: str = "by decreasing steps it is within 0.1 after fewer passes through the data than CAVI"

    def find(self, answers: pd.DataFrame) -> Finding:
        ours = value_of(answers, tables.PASSES, tables.STOCHASTIC_VI, tables.DECREASING)
        other = value_of(answers, tables.PASSES, tables.ASCENT, tables.MANY_POINTS)
        if isnan(ours) or isnan(other):
            return NOT_RUN
        return ours < other, f"{ours:.2f} passes against {other:.0f}"


@dataclass(frozen=True)
class MaximisesEvidence:
    """Whether the highest ELBO is where the highest evidence is."""

    rule: str = "the fitted prior variance is within 5 % of that with the highest exact evidence"

    def find(self, answers: pd.DataFrame) -> Finding:
        place = (tables.VARIANCE, tables.VARIATIONAL_EM, tables.FEW_POINTS)
        fitted, exact = value_of(answers, *place), exact_of(answers, *place)
        if isnan(fitted):
            return NOT_RUN
        return abs(fitted / exact - 1) <= 0.05, f"{fitted:.4f} against {exact:.4f}"
