"""The rules by which the GVI thesis's claims on other methods are checked on our numbers."""

from __future__ import annotations

from dataclasses import dataclass

from bnnbench.results.claims import MOST, Finding
from bnnbench.suites.felekis_gvi.comparison import ThesisRuns
from bnnbench.suites.felekis_gvi.comparison_rules import complete, missing, of, ranked, spoken


@dataclass(frozen=True)
class Leads:
    """Whether some contenders, taken together, are before each of their rivals at one depth.

    As the thesis names no single divergence, neither their best nor their worst speaks for them.
    """

    names: tuple[str, ...]
    rivals: tuple[str, ...]
    depth: int

    @property
    def rule(self) -> str:
        return (
            f"by the rank of medians among all of these, averaged over data sets x RMSE and NLL, "
            f"the mean over {spoken(self.names)} is before {spoken(self.rivals)}"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        field = (*self.names, *self.rivals)
        table = complete(suite.medians, field, self.depth)
        if table.empty:
            return missing(field, self.depth)
        mean, evidence = ranked(table)
        together = mean[list(self.names)].mean()
        evidence = f"together {together:.1f}; {evidence}"
        return bool(together < mean[list(self.rivals)].min()), evidence


@dataclass(frozen=True)
class Closer:
    """Whether one more layer brings the RMSE of some contenders nearer to that of others."""

    names: tuple[str, ...]
    to: tuple[str, ...]
    depth: int

    @property
    def rule(self) -> str:
        return (
            f"in three quarters of data sets the mean of the median RMSE of {spoken(self.names)} "
            f"is nearer to that of {spoken(self.to)} than with one layer less"
        )

    def find(self, suite: ThesisRuns) -> Finding:
        gaps = []
        for depth in (self.depth - 1, self.depth):
            table = of(complete(suite.medians, (*self.names, *self.to), depth), ("rmse",))
            if table.empty:
                return missing((*self.names, *self.to), depth)
            gaps.append(table[list(self.names)].mean(axis=1) - table[list(self.to)].mean(axis=1))
        before, after = (gap.droplevel(1) for gap in gaps)
        common = before.index.intersection(after.index)
        evidence = ", ".join(f"{d} {before[d]:+.2f} to {after[d]:+.2f}" for d in common)
        nearer = (after[common].abs() < before[common].abs()).sum()
        return bool(nearer >= MOST * len(common)), f"differences: {evidence}"
