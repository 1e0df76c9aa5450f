"""Rules for the GVI thesis's claims about other methods."""

from __future__ import annotations

from dataclasses import dataclass

from bnnbench.results.claims import MAJORITY, CheckResult
from bnnbench.suites.felekis_gvi.comparison import ThesisRuns
from bnnbench.suites.felekis_gvi.comparison_rules import (
    complete_datasets,
    join_names,
    missing_runs,
    rank_medians,
    select_metrics,
)


@dataclass(frozen=True)
class IsBest:
    """Whether some contenders have a better mean rank than each of their rivals at one depth.

    The average is used because the thesis does not name a single divergence.
    """

    names: tuple[str, ...]
    rivals: tuple[str, ...]
    depth: int

    @property
    def rule(self) -> str:
        return (
            f"the mean rank of {join_names(self.names)} is better than that of each of "
            f"{join_names(self.rivals)} (ranks of medians, averaged over data sets x RMSE and NLL)"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        field = (*self.names, *self.rivals)
        table = complete_datasets(suite.medians, field, self.depth)
        if table.empty:
            return missing_runs(field, self.depth)
        mean, evidence = rank_medians(table)
        together = mean[list(self.names)].mean()
        evidence = f"average {together:.1f}; {evidence}"
        return bool(together < mean[list(self.rivals)].min()), evidence


@dataclass(frozen=True)
class GetsCloser:
    """Whether one more layer brings the RMSE of some contenders closer to that of others."""

    names: tuple[str, ...]
    to: tuple[str, ...]
    depth: int

    @property
    def rule(self) -> str:
        return (
            "in three quarters of data sets the mean of the median RMSE of "
            f"{join_names(self.names)} is closer to that of {join_names(self.to)} than with one "
            "layer less"
        )

    def check(self, suite: ThesisRuns) -> CheckResult:
        gaps = []
        for depth in (self.depth - 1, self.depth):
            table = select_metrics(
                complete_datasets(suite.medians, (*self.names, *self.to), depth), ("rmse",)
            )
            if table.empty:
                return missing_runs((*self.names, *self.to), depth)
            gaps.append(table[list(self.names)].mean(axis=1) - table[list(self.to)].mean(axis=1))
        before, after = (gap.droplevel(1) for gap in gaps)
        common = before.index.intersection(after.index)
        evidence = ", ".join(f"{d} {before[d]:+.2f} to {after[d]:+.2f}" for d in common)
        nearer = (after[common].abs() < before[common].abs()).sum()
        return bool(nearer >= MAJORITY * len(common)), f"differences: {evidence}"
