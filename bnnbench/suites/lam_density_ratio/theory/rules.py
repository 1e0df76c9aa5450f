"""The rules by which statements of the thesis's theory are judged, on `answers.csv`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import Finding
from bnnbench.suites.lam_density_ratio.theory.names import AT_EXACT, GAP_ELSEWHERE, TRUTH


@dataclass(frozen=True)
class Within:
    """Whether some numbers of a run lie strictly between two bounds.

    Attributes:
        quantity: of the answers.
        approximations: which of them; all have to hold.
        low: below all of them.
        high: above all of them.
        rule: the same in words.
        aside: approximations of another quantity that are told with the evidence, by quantity.
    """

    quantity: str
    approximations: tuple[str, ...]
    rule: str
    low: float = -math.inf
    high: float = math.inf
    aside: tuple[tuple[str, str], ...] = ()

    def find(self, answers: pd.DataFrame) -> Finding:
        values = {name: value_of(answers, self.quantity, name) for name in self.approximations}
        if any(math.isnan(value) for value in values.values()):
            return None, f"the run has no {self.quantity}"
        parts = [f"{self.quantity}: {told(values)}"]
        for quantity, name in self.aside:
            parts.append(f"{quantity}: {told({name: value_of(answers, quantity, name)})}")
        return all(self.low < value < self.high for value in values.values()), "; ".join(parts)


def told(values: dict[str, float]) -> str:
    """`gan, D 0.98; gan, r 0.5`: numbers by name."""
    return ", ".join(f"{value:.3g} ({name})" for name, value in values.items())


@dataclass(frozen=True)
class Touches:
    """Whether a lower bound equals what it bounds at the exact ratio, and there alone.

    Attributes:
        divergence: a key of `names.TRUTH`.
        near: how near counts as equal, nats.
    """

    divergence: str
    near: float = 1e-10

    @property
    def rule(self) -> str:
        return (
            f"at the exact ratio the bound is within {self.near:g} of the divergence by quadrature "
            "for every pair of densities, and lower at every other ratio of both families"
        )

    def find(self, answers: pd.DataFrame) -> Finding:
        quantity = TRUTH[self.divergence]
        at = answers[(answers["quantity"] == quantity) & (answers["approximation"] == AT_EXACT)]
        gaps = answers.loc[answers["quantity"] == GAP_ELSEWHERE.format(quantity), "value"]
        if at.empty or gaps.empty:
            return None, "the run has no bound at the exact ratio"
        off = float((at["value"] - at["exact"]).abs().max())
        return bool(off < self.near and (gaps > 0).all()), (
            f"{len(at)} pairs: off by {off:.1g} at most at the exact ratio; at all others lower, "
            f"by {gaps.min():.2g} at least"
        )


@dataclass(frozen=True)
class Equals:
    """Whether a number is the one that the thesis derives.

    Attributes:
        quantity: of the answers.
        approximation: which of them.
        near: how near counts as equal.
    """

    quantity: str
    approximation: str
    near: float = 1e-10

    @property
    def rule(self) -> str:
        return f"within {self.near:g} of it"

    def find(self, answers: pd.DataFrame) -> Finding:
        own = answers[
            (answers["quantity"] == self.quantity)
            & (answers["approximation"] == self.approximation)
        ]
        if own.empty:
            return None, f"the run has no {self.quantity}"
        value, published = own.iloc[0][["value", "published"]]
        return bool(
            abs(value - published) < self.near
        ), f"{value:.10g} where it says {published:.10g}"
