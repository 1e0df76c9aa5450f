"""Rules for the GVI thesis's claims about its toy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.claims import MAJORITY, CheckResult
from bnnbench.results.interval_coverage import SMALL_HALF_WIDTH
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, ThesisRuns
from bnnbench.suites.felekis_gvi.comparison_rules import missing_runs

DEPTHS = (1, 2, 3)

WELL_CALIBRATED = 0.1
"""The thesis's bound on the difference in coverage at one standard deviation."""


@dataclass(frozen=True)
class IsBestCalibrated:
    """Whether these divergences are the best calibrated on the toy at one depth."""

    names: tuple[str, ...]
    depth: int

    @property
    def rule(self) -> str:
        return (
            f"of {len(DIVERGENCES)} divergences, these have the smallest differences between "
            f"coverage at one standard deviation and 0.68, each at most {WELL_CALIBRATED}"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        rows = select_depth(suite.sigma, DIVERGENCES, self.depth)
        if rows is None:
            return missing_runs(DIVERGENCES, self.depth)
        evidence = ", ".join(
            f"{NAMES[str(name)]} {value:.2f}"
            for name, value in rows["difference"].sort_values(kind="stable").items()
        )
        is_named = rows["difference"].index.isin(self.names)
        worst, best_other = rows["difference"][is_named].max(), rows["difference"][~is_named].min()
        return bool(worst <= min(WELL_CALIBRATED, best_other)), f"differences: {evidence}"


@dataclass(frozen=True)
class CoverageRises:
    """Whether coverage at one standard deviation rises from one hidden layer to three."""

    names: tuple[str, ...]
    falls: bool = False

    @property
    def rule(self) -> str:
        most = " for three quarters of them" if len(self.names) > 1 else ""
        return (
            f"coverage at one standard deviation is {'lower' if self.falls else 'higher'} at depth "
            f"{DEPTHS[-1]} than at depth {DEPTHS[0]}{most}"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        coverages = []
        for depth in DEPTHS:
            rows = select_depth(suite.sigma, self.names, depth)
            if rows is None:
                return missing_runs(self.names, depth)
            coverages.append(rows["inside_1"])
        table = pd.concat(coverages, axis=1)
        change = table.iloc[:, -1] - table.iloc[:, 0]
        n_holds = int(((change < 0) if self.falls else (change > 0)).sum())
        evidence = "; ".join(
            f"{NAMES[str(name)]} {', '.join(f'{coverage:.2f}' for coverage in row)}"
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        )
        return n_holds >= MAJORITY * len(table), f"{n_holds} of {len(table)}: {evidence}"


@dataclass(frozen=True)
class SmallIntervalsAreOverconfident:
    """Whether small intervals contain too few targets."""

    @property
    def rule(self) -> str:
        return (
            "coverage is below a Gaussian's on average over half-widths of 0.1 to "
            f"{SMALL_HALF_WIDTH - 0.1:g} standard deviations, for three quarters of divergences x "
            "depths"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        tables = {depth: select_depth(suite.sigma, DIVERGENCES, depth) for depth in DEPTHS}
        known = {
            d: values["small_interval_excess"].dropna()
            for d, values in tables.items()
            if values is not None
        }
        low = {depth: values < 0 for depth, values in known.items() if len(values)}
        if not low:
            return missing_runs(DIVERGENCES, 1)
        evidence = ", ".join(
            f"{sum(values)} of {len(values)} at depth {d}" for d, values in low.items()
        )
        is_low = pd.concat(low)
        return bool(is_low.sum() >= MAJORITY * len(is_low)), evidence


@dataclass(frozen=True)
class OneLayerIsBest:
    """Whether every criterion of every divergence is smallest with one hidden layer."""

    rule: str = "BIC, AIC and HQC of every divergence are smallest at depth 1"

    def check(self, suite: ThesisRuns) -> CheckResult:
        table = suite.criteria
        table = table[table["name"].isin(DIVERGENCES)] if len(table) else table
        if table.empty or table["depth"].nunique() < 2:
            return None, "the toy was not run at two depths"
        criteria = table.melt(["name", "depth"], ["bic", "aic", "hqc"])
        best = criteria.loc[criteria.groupby(["name", "variable"])["value"].idxmin(), "depth"]
        return bool((best == 1).all()), f"smallest at depth 1 in {(best == 1).sum()} of {len(best)}"


def select_depth(table: pd.DataFrame, names: Sequence[str], depth: int) -> pd.DataFrame | None:
    """Return the rows of these names at one depth, indexed by name; None unless all exist."""
    if table.empty:
        return None
    rows = table[(table["depth"] == depth) & table["name"].isin(names)]
    rows = rows.drop_duplicates("name").set_index("name")
    return rows.loc[list(names)] if set(names) <= set(rows.index) else None
