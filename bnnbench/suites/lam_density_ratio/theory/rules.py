"""The rules by which statements of the thesis's theory are judged, on `answers.csv`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import Finding


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
