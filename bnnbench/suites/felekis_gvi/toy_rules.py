"""The rules by which the GVI thesis's claims on its toy are checked on our numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MOST, VERDICTS, Finding
from bnnbench.results.interval_coverage import LOW
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, ThesisRuns
from bnnbench.suites.felekis_gvi.comparison_rules import missing
from bnnbench.suites.felekis_gvi.printed import NAMES as PRINTED_NAMES
from bnnbench.suites.felekis_gvi.printed import printed

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
        keys = {PRINTED_NAMES.get(name, name): name for name in DIVERGENCES}
        table = printed("calibration")["difference"].xs(self.depth, level="hidden_layers")
        theirs = table.loc[list(keys)].rename(keys)
        evidence = ", ".join(
            f"{NAMES[str(name)]} {value:.2f}"
            for name, value in own["difference"].sort_values(kind="stable").items()
        )
        said = f"differences: {evidence}; the thesis's table: {VERDICTS[self._holds(theirs)]}"
        return self._holds(own["difference"]), said

    def _holds(self, differences: pd.Series) -> bool:
        worst = differences[list(self.names)].max()
        return bool(worst <= min(WELL_CALIBRATED, differences.drop(list(self.names)).min()))


@dataclass(frozen=True)
class Rises:
    """Whether the share inside one deviation rises with every further hidden layer."""

    names: tuple[str, ...]
    falls: bool = False

    @property
    def rule(self) -> str:
        change = "lower" if self.falls else "higher"
        return f"the share inside one deviation is {change} at depth 2 than 1 and at 3 than 2"

    def find(self, suite: ThesisRuns) -> Finding:
        shares = []
        for depth in DEPTHS:
            own = at(suite.sigma, self.names, depth)
            if own is None:
                return missing(self.names, depth)
            shares.append(own["inside_1"])
        table = pd.concat(shares, axis=1)
        steps = table.diff(axis=1).iloc[:, 1:]
        evidence = "; ".join(
            f"{NAMES[str(name)]} {', '.join(f'{share:.2f}' for share in row)}"
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        )
        return bool(((steps < 0) if self.falls else (steps > 0)).all(axis=None)), evidence


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
        low = {depth: own["low_excess"] < 0 for depth, own in tables.items() if own is not None}
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
