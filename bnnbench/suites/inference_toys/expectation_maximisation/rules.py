"""The rules by which what the lecture says of EM is judged."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import Finding
from bnnbench.suites.inference_toys.expectation_maximisation import tables

ROUNDING = 1e-8
"""Nats that rounding may move a log-likelihood of hundreds."""

FITTED = (tables.SETTINGS[tables.MADE], tables.SETTINGS[tables.PETALS])
"""Data that are fitted from random starts."""

NOT_RUN: Finding = (None, "not run")


@dataclass(frozen=True)
class AtMostRounding:
    """Whether a quantity is zero but for rounding, on all data where it was measured."""

    quantity: str
    settings: tuple[str, ...] = FITTED

    @property
    def rule(self) -> str:
        return f"{self.quantity}: at most {ROUNDING:g}"

    def find(self, answers: pd.DataFrame) -> Finding:
        found = [value_of(answers, self.quantity, tables.EM, s) for s in self.settings]
        if any(map(isnan, found)):
            return NOT_RUN
        evidence = ", ".join(f"{s} {v:.1e}" for s, v in zip(self.settings, found, strict=True))
        return max(found) <= ROUNDING, evidence


@dataclass(frozen=True)
class AsElsewhere:
    """Whether another program makes the same iterations."""

    rule: str = (
        "after as many iterations from the same start no parameter differs from scikit-learn's "
        f"GaussianMixture by more than {ROUNDING:g} of itself"
    )

    def find(self, answers: pd.DataFrame) -> Finding:
        found = [value_of(answers, tables.APART, tables.SKLEARN, s) for s in FITTED]
        if any(map(isnan, found)):
            return NOT_RUN
        evidence = ", ".join(f"{s} {v:.1e}" for s, v in zip(FITTED, found, strict=True))
        return max(found) <= ROUNDING, evidence


@dataclass(frozen=True)
class ReachesMaximum:
    """Whether EM ends at a maximum of the likelihood itself."""

    rule: str = "a general optimiser started where EM ends gains at most 1e-6 nats"

    def find(self, answers: pd.DataFrame) -> Finding:
        chosen = (answers["quantity"] == tables.LIKELIHOOD) & (
            answers["approximation"] == tables.EM
        )
        rows = answers[chosen & answers["setting"].isin(FITTED)]
        if len(rows) < len(FITTED):
            return NOT_RUN
        gains = rows["exact"] - rows["value"]
        return bool(gains.max() <= 1e-6), f"gains at most {gains.max():.1e} nats"


@dataclass(frozen=True)
class NoClosedForm:
    """Whether the gradient lacks a closed form."""

    rule: str = "the formula by Fisher's identity is more than 1e-5 from central differences"

    def find(self, answers: pd.DataFrame) -> Finding:
        apart = value_of(answers, tables.SLOPE, tables.FISHER)
        if isnan(apart):
            return NOT_RUN
        return apart > 1e-5, f"the formula is {apart:.1e} from them, relative to the slope"


@dataclass(frozen=True)
class MaximumExists:
    """Whether nothing has a higher likelihood than where EM ends."""

    rule: str = (
        "a component that sits on one point has no higher log-likelihood than EM's end, "
        "however narrow it is"
    )

    def find(self, answers: pd.DataFrame) -> Finding:
        best = value_of(answers, tables.LIKELIHOOD, tables.EM, tables.SETTINGS[tables.MADE])
        spikes = answers[answers["quantity"] == tables.SPIKE]
        if isnan(best) or spikes.empty:
            return NOT_RUN
        spike = spikes.iloc[0]
        evidence = f"{spike['value']:.1f} with {spike['approximation']}, EM's end {best:.1f}"
        return bool(spike["value"] <= best), evidence
