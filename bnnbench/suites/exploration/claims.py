"""Claims about Thompson sampling, tested on regrets paired by repetition."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.claims import (
    CLAIM_LEVEL,
    CheckResult,
    Claims,
    NotTestable,
    check_positive,
)
from bnnbench.suites.exploration.tables import THOMPSON

MIN_DELTA, MIN_REPETITIONS = 0.95, 100
"""Wheels that the claims are about, and the number of repetitions that a test needs."""

TEXT = "Thompson sampling with {} has less regret than greedy choices where good actions are rare"

RULE = (
    f"P(regret of greedy - of Thompson > 0) > {CLAIM_LEVEL}, t-test over at least "
    f"{MIN_REPETITIONS} repetitions of wheels with delta >= {MIN_DELTA}"
)

claims = Claims()


@claims(TEXT.format("Laplace"), source="bnnbench", rule=RULE, method="laplace")
@claims(TEXT.format("a deep ensemble"), source="bnnbench", rule=RULE, method="deep_ensemble")
@claims(TEXT.format("Bayes by Backprop"), source="bnnbench", rule=RULE, method="bbb")
def has_less_regret(table: pd.DataFrame, method: str) -> CheckResult:
    """Check whether the draws of a method explore better than its mean.

    Args:
        table: `regret.csv` of several runs, with their metadata; wheels share the contexts of a
            repetition, so they are averaged.
        method: label of the method.
    """
    wanted = (table["method"] == method) & (table["delta"] >= MIN_DELTA)
    own = table[wanted & table["arm"].str.startswith(THOMPSON)]
    gains = -own.groupby("repetition")["difference"].mean()
    if len(gains) < MIN_REPETITIONS:
        raise NotTestable(f"{len(gains)} repetitions of such wheels; {MIN_REPETITIONS} needed")
    return check_positive(gains, "repetitions")
