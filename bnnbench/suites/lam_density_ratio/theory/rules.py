"""Rules that check the thesis's theoretical statements on `answers.csv`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import CheckResult
from bnnbench.suites.lam_density_ratio.theory.names import AT_EXACT, DIVERGENCE_QUANTITY, MIN_GAP


@dataclass(frozen=True)
class Within:
    """Whether all of some answers lie strictly between two bounds.

    Attributes:
        quantity: quantity of the answers.
        approximations: approximations of the answers, all of which must satisfy the rule.
        rule: the rule in words.
        low: lower bound.
        high: upper bound.
        also_report: quantity and approximation of further answers to report as evidence.
    """

    quantity: str
    approximations: tuple[str, ...]
    rule: str
    low: float = -math.inf
    high: float = math.inf
    also_report: tuple[tuple[str, str], ...] = ()

    def check(self, answers: pd.DataFrame) -> CheckResult:
        values = {name: value_of(answers, self.quantity, name) for name in self.approximations}
        if any(math.isnan(value) for value in values.values()):
            return None, f"the run has no {self.quantity}"
        parts = [f"{self.quantity}: {format_values(values)}"]
        for quantity, name in self.also_report:
            parts.append(f"{quantity}: {format_values({name: value_of(answers, quantity, name)})}")
        return all(self.low < value < self.high for value in values.values()), "; ".join(parts)


def format_values(values: dict[str, float]) -> str:
    """Return `0.98 (GAN, D), 0.5 (GAN, r)`."""
    return ", ".join(f"{value:.3g} ({name})" for name, value in values.items())


@dataclass(frozen=True)
class BoundIsTight:
    """Whether a lower bound equals its divergence at the exact ratio, and only there.

    Attributes:
        divergence: a key of `names.DIVERGENCE_QUANTITY`.
        tolerance: largest difference that counts as equal, nats.
    """

    divergence: str
    tolerance: float = 1e-10

    @property
    def rule(self) -> str:
        return (
            f"at the exact ratio the bound is within {self.tolerance:g} of the divergence by "
            "quadrature for every pair of densities, and at every other ratio it is lower"
        )

    def check(self, answers: pd.DataFrame) -> CheckResult:
        quantity = DIVERGENCE_QUANTITY[self.divergence]
        at = answers[(answers["quantity"] == quantity) & (answers["approximation"] == AT_EXACT)]
        gaps = answers.loc[answers["quantity"] == MIN_GAP.format(quantity), "value"]
        if at.empty or gaps.empty:
            return None, "the run has no bound at the exact ratio"
        error = float((at["value"] - at["exact"]).abs().max())
        return bool(error < self.tolerance and (gaps > 0).all()), (
            f"{len(at)} pairs: error at most {error:.1g} at the exact ratio; lower by at least "
            f"{gaps.min():.2g} at all others"
        )


@dataclass(frozen=True)
class Equals:
    """Whether an answer equals the value that the thesis derives.

    Attributes:
        quantity: quantity of the answer.
        approximation: approximation of the answer.
        tolerance: largest difference that counts as equal.
    """

    quantity: str
    approximation: str
    tolerance: float = 1e-10

    @property
    def rule(self) -> str:
        return f"within {self.tolerance:g} of it"

    def check(self, answers: pd.DataFrame) -> CheckResult:
        rows = answers[
            (answers["quantity"] == self.quantity)
            & (answers["approximation"] == self.approximation)
        ]
        if rows.empty:
            return None, f"the run has no {self.quantity}"
        value, published = rows.iloc[0][["value", "published"]]
        holds = bool(abs(value - published) < self.tolerance)
        return holds, f"{value:.10g}; the thesis has {published:.10g}"
