"""The rules by which the GVI thesis's claims on the order alpha are checked on our numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MOST, Finding
from bnnbench.results.divergence_orders import losses_by_order
from bnnbench.results.metrics import printed_in
from bnnbench.results.significance import equivalence
from bnnbench.suites.felekis_gvi.comparison import NAMES, ThesisRuns

ByOrder = tuple[str, pd.Series, float]
"""A family, a mean score by its order (lower is better), and the difference that counts."""


def by_order(suite: ThesisRuns) -> Iterator[ByOrder]:
    """One per family, data set and score."""
    for (family, _), own in suite.orders.groupby(["divergence_family", "dataset"], sort=False):
        for metric in printed_in("figures"):
            losses = losses_by_order(own, metric)
            if len(losses):
                yield str(family), losses, equivalence(metric, losses.abs().mean())


@dataclass(frozen=True)
class Above:
    """Whether scores are better for orders above 1 than below, in every family."""

    @property
    def rule(self) -> str:
        return (
            "in every family the mean score over orders above 1 is better than that below 1 in "
            "three quarters of data sets x RMSE and NLL, by more than 1 % or 0.01 nats"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        gains: dict[str, list[int]] = {}
        for family, score, least in by_order(suite):
            low, high = score[score.index < 1].mean(), score[score.index > 1].mean()
            if pd.notna(low) and pd.notna(high):
                gain = int(low - high > least) - int(high - low > least)
                gains.setdefault(family, []).append(gain)
        if not gains:
            return None, "no family has orders on both sides of 1"
        evidence = "; ".join(
            f"{NAMES.get(family, family)} better in {own.count(1)}, worse in {own.count(-1)}, "
            f"equal in {own.count(0)}"
            for family, own in gains.items()
        )
        return all(own.count(1) >= MOST * len(own) for own in gains.values()), evidence


@dataclass(frozen=True)
class BestOrder:
    """Whether the best order lies between two numbers."""

    low: float
    high: float

    @property
    def rule(self) -> str:
        return (
            f"the order of the best mean lies from {self.low:g} to {self.high:g} in three quarters "
            "of families x data sets x RMSE and NLL, but for those whose orders are all within "
            "1 % or 0.01 nats"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        found = [(score, score.max() - score.min() > least) for _, score, least in by_order(suite)]
        best = [float(score.idxmin()) for score, matters in found if matters]
        if not best:
            return None, "no family of orders has run in which the order matters"
        inside, even = sum(self.low <= order <= self.high for order in best), len(found) - len(best)
        middle = pd.Series(best).median()
        evidence = f"{inside} of {len(best)}; median best order {middle:g}; {even} left out"
        return inside >= MOST * len(best), evidence
