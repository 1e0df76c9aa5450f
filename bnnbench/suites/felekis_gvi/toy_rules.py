"""The rules by which the GVI thesis's claims on its toy are checked on our numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MOST, Finding
from bnnbench.results.interval_coverage import LOW
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, ThesisRuns
from bnnbench.suites.felekis_gvi.comparison_rules import missing

DEPTHS = (1, 2, 3)

WELL_CALIBRATED = 0.1
"""The thesis's bound on the difference at one deviation."""


@dataclass(frozen=True)
class BestCalibrated:
    """Whether these divergences are the best calibrated on the toy at one depth."""

    names: tuple[str, ...]
    depth: int

    @property
    def rule(self) -> str:
        return (
            f"of {len(DIVERGENCES)} divergences theirs are the least differences from 0.68 inside "
            f"one deviation, each at most {WELL_CALIBRATED}"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        own = at(suite.sigma, DIVERGENCES, self.depth)
        if own is None:
            return missing(DIVERGENCES, self.depth)
        evidence = ", ".join(
            f"{NAMES[str(name)]} {value:.2f}"
            for name, value in own["difference"].sort_values(kind="stable").items()
        )
        named = own["difference"].index.isin(self.names)
        worst, best_other = own["difference"][named].max(), own["difference"][~named].min()
        return bool(worst <= min(WELL_CALIBRATED, best_other)), f"differences: {evidence}"


@dataclass(frozen=True)
class Rises:
    """Whether the share inside one deviation rises from one hidden layer to three."""

    names: tuple[str, ...]
    falls: bool = False

    @property
    def rule(self) -> str:
        most = " for three quarters of them" if len(self.names) > 1 else ""
        return (
            f"the share inside one deviation is {'lower' if self.falls else 'higher'} at depth "
            f"{DEPTHS[-1]} than at {DEPTHS[0]}{most}"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        shares = []
        for depth in DEPTHS:
            own = at(suite.sigma, self.names, depth)
            if own is None:
                return missing(self.names, depth)
            shares.append(own["inside_1"])
        table = pd.concat(shares, axis=1)
        change = table.iloc[:, -1] - table.iloc[:, 0]
        held = int(((change < 0) if self.falls else (change > 0)).sum())
        evidence = "; ".join(
            f"{NAMES[str(name)]} {', '.join(f'{share:.2f}' for share in row)}"
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        )
        return held >= MOST * len(table), f"{held} of {len(table)}: {evidence}"


@dataclass(frozen=True)
class TooSure:
    """Whether small intervals of predicted deviations hold too few targets."""

    @property
    def rule(self) -> str:
        return (
            f"on average over 0.1 to {LOW - 0.1:g} deviations a smaller share is inside than a "
            "Gaussian's, for three quarters of divergences x depths"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        tables = {depth: at(suite.sigma, DIVERGENCES, depth) for depth in DEPTHS}
        known = {d: own["low_excess"].dropna() for d, own in tables.items() if own is not None}
        low = {depth: own < 0 for depth, own in known.items() if len(own)}
        if not low:
            return missing(DIVERGENCES, 1)
        evidence = ", ".join(f"{sum(own)} of {len(own)} at depth {d}" for d, own in low.items())
        held = pd.concat(low)
        return bool(held.sum() >= MOST * len(held)), evidence


@dataclass(frozen=True)
class Shallowest:
    """Whether every criterion of every divergence is least with one hidden layer."""

    rule: str = "BIC, AIC and HQC of every divergence are least at depth 1"

    def find(self, suite: ThesisRuns) -> Finding:
        table = suite.criteria
        table = table[table["name"].isin(DIVERGENCES)] if len(table) else table
        if table.empty or table["depth"].nunique() < 2:
            return None, "the toy has not run at two depths"
        long = table.melt(["name", "depth"], ["bic", "aic", "hqc"])
        best = long.loc[long.groupby(["name", "variable"])["value"].idxmin(), "depth"]
        return bool((best == 1).all()), f"least at depth 1 in {(best == 1).sum()} of {len(best)}"


def at(table: pd.DataFrame, names: Sequence[str], depth: int) -> pd.DataFrame | None:
    """The rows of these names at one depth, indexed by them; None unless all are there."""
    if table.empty:
        return None
    own = table[(table["depth"] == depth) & table["name"].isin(names)]
    own = own.drop_duplicates("name").set_index("name")
    return own.loc[list(names)] if set(names) <= set(own.index) else None
