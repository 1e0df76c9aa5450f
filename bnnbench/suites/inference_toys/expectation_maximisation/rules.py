"""Rules that check the lecture's claims about EM on a run's answers."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult
from bnnbench.suites.inference_toys.expectation_maximisation import names

ROUNDING_TOLERANCE = 1e-8
"""Rounding error allowed in a log-likelihood of hundreds, nats."""

FITTED_SETTINGS = (names.SETTINGS[names.SYNTHETIC], names.SETTINGS[names.PETAL_LENGTHS])
"""Settings with random starts."""

NOT_RUN: CheckResult = (None, "not run")


@dataclass(frozen=True)
class IsZeroUpToRounding:
    """A quantity is zero up to rounding on all its data sets."""

    quantity: str
    settings: tuple[str, ...] = FITTED_SETTINGS

    @property
    def rule(self) -> str:
        return f"the {self.quantity} is at most {ROUNDING_TOLERANCE:g}"

    def check(self, answers: pd.DataFrame) -> CheckResult:
        values = [value_of(answers, self.quantity, names.EM, s) for s in self.settings]
        if any(map(isnan, values)):
            return NOT_RUN
        evidence = ", ".join(f"{s} {v:.1e}" for s, v in zip(self.settings, values, strict=True))
        return max(values) <= ROUNDING_TOLERANCE, evidence


@dataclass(frozen=True)
class MatchesScikitLearn:
    """The iterations equal those of scikit-learn."""

    rule: str = (
        "after the same number of iterations from the same start, every parameter agrees with "
        f"scikit-learn's GaussianMixture to a relative {ROUNDING_TOLERANCE:g}"
    )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        values = [
            value_of(answers, names.PARAMETER_DIFFERENCE, names.SKLEARN, s) for s in FITTED_SETTINGS
        ]
        if any(map(isnan, values)):
            return NOT_RUN
        evidence = ", ".join(f"{s} {v:.1e}" for s, v in zip(FITTED_SETTINGS, values, strict=True))
        return max(values) <= ROUNDING_TOLERANCE, evidence


@dataclass(frozen=True)
class ReachesMaximum:
    """EM converges to a maximum of the likelihood."""

    rule: str = "BFGS, started near the result of EM, gains at most 1e-6 nats"

    def check(self, answers: pd.DataFrame) -> CheckResult:
        selected = (answers["quantity"] == names.LOG_LIKELIHOOD) & (
            answers["approximation"] == names.EM
        )
        rows = answers[selected & answers["setting"].isin(FITTED_SETTINGS)]
        if len(rows) < len(FITTED_SETTINGS):
            return NOT_RUN
        gains = rows["exact"] - rows["value"]
        return bool(gains.max() <= 1e-6), f"gains at most {gains.max():.1e} nats"


@dataclass(frozen=True)
class NoClosedForm:
    """The closed form of the gradient is wrong."""

    rule: str = (
        "the gradient by Fisher's identity differs from central differences by more than a "
        "relative 1e-5"
    )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        difference = value_of(answers, names.GRADIENT_DIFFERENCE, names.FISHER)
        if isnan(difference):
            return NOT_RUN
        return difference > 1e-5, f"relative difference {difference:.1e}"


@dataclass(frozen=True)
class MaximumExists:
    """A component on one point does not exceed the likelihood of EM's result."""

    rule: str = (
        "a component centred on one point, however narrow, has at most the log-likelihood of EM's "
        "result"
    )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        best = value_of(answers, names.LOG_LIKELIHOOD, names.EM, names.SETTINGS[names.SYNTHETIC])
        spikes = answers[answers["quantity"] == names.SPIKE_LOG_LIKELIHOOD]
        if isnan(best) or spikes.empty:
            return NOT_RUN
        spike = spikes.iloc[0]
        evidence = f"{spike['value']:.1f} with {spike['approximation']}, EM {best:.1f}"
        return bool(spike["value"] <= best), evidence
