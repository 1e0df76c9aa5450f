"""Rules for the GVI thesis's claims about the order alpha."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MAJORITY, CheckResult
from bnnbench.results.divergence_orders import losses_by_order
from bnnbench.results.metrics import printed_in
from bnnbench.results.significance import rope_width
from bnnbench.suites.felekis_gvi.comparison import NAMES, ThesisRuns

ScoresByOrder = tuple[str, pd.Series, float]
"""A family, mean losses by order, and the ROPE."""


def scores_by_order(suite: ThesisRuns) -> Iterator[ScoresByOrder]:
    """Yield the scores of each family, data set and metric."""
    for (family, _), group in suite.orders.groupby(["divergence_family", "dataset"], sort=False):
        for metric in printed_in("figures"):
            losses = losses_by_order(group, metric)
            if len(losses):
                yield str(family), losses, rope_width(metric, losses.abs().mean())


@dataclass(frozen=True)
class LargeOrdersAreBetter:
    """Whether scores are better for orders above 1 than for those below, in every family."""

    @property
    def rule(self) -> str:
        return (
            "in every family the mean score over orders above 1 is better than over orders below "
            "1, by more than 1 % or 0.01 nats, in three quarters of data sets x RMSE and NLL"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        gains: dict[str, list[int]] = {}
        for family, score, rope in scores_by_order(suite):
            low, high = score[score.index < 1].mean(), score[score.index > 1].mean()
            if pd.notna(low) and pd.notna(high):
                gain = int(low - high > rope) - int(high - low > rope)
                gains.setdefault(family, []).append(gain)
        if not gains:
            return None, "no family has orders on both sides of 1"
        evidence = "; ".join(
            f"{NAMES.get(family, family)} better in {signs.count(1)}, worse in {signs.count(-1)}, "
            f"equal in {signs.count(0)}"
            for family, signs in gains.items()
        )
        return all(signs.count(1) >= MAJORITY * len(signs) for signs in gains.values()), evidence


@dataclass(frozen=True)
class BestOrderIsBetween:
    """Whether the best order lies between two numbers."""

    low: float
    high: float

    @property
    def rule(self) -> str:
        return (
            f"the order with the best mean is between {self.low:g} and {self.high:g} in three "
            "quarters of families x data sets x RMSE and NLL, except those whose orders all agree "
            "within 1 % or 0.01 nats"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        scores = [
            (score, score.max() - score.min() > rope) for _, score, rope in scores_by_order(suite)
        ]
        best = [float(score.idxmin()) for score, matters in scores if matters]
        if not best:
            return None, "in no family does the order matter"
        inside, excluded = (
            sum(self.low <= order <= self.high for order in best),
            len(scores) - len(best),
        )
        middle = pd.Series(best).median()
        evidence = f"{inside} of {len(best)}; median best order {middle:g}; {excluded} left out"
        return inside >= MAJORITY * len(best), evidence
