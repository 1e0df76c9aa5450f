"""Rules on means over repetitions, which the thesis's own tables can be held to as well."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bnnbench.results.claims import Finding
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import (
    DIVERGENCES,
    FLOOR,
    Cell,
)
from bnnbench.suites.lam_density_ratio.comparison.statistics import (
    Difference,
    Sample,
    f_test,
    welch,
)

LEAST = 10
"""Repetitions without which no test is made: it could hardly find anything."""

SURE = 0.05
"""Below which p a difference counts."""


def told(sample: Sample) -> str:
    """`1.3267 (sd 0.0041, n 30)`."""
    return f"{sample.mean:.4f} (sd {sample.std:.4f}, n {sample.size})"


def tested(name: str, found: Difference) -> str:
    """`prior: +0.0540, p 3.3e-08`."""
    return f"{name}: {found.value:+.4f}, p {found.p:.2g}"


def enough(table: Mapping[Cell, Sample], cells: Iterable[Cell]) -> bool:
    """Whether each configuration is there with enough repetitions."""
    return all(cell in table and table[cell].size >= LEAST for cell in cells)


def few(table: Mapping[Cell, Sample], cells: Iterable[Cell]) -> list[Cell]:
    """Those that are not."""
    return [cell for cell in cells if not enough(table, [cell])]


def lacking(cells: Iterable[Cell]) -> Finding:
    """The finding where some are not."""
    names = [f"{cell.setting} {cell.name}" for cell in cells]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return None, f"not there with {LEAST} repetitions that ended: {'; '.join(names[:2])}{more}"


@dataclass(frozen=True)
class Better:
    """Whether one configuration has the lower mean than another, surely, in each pair.

    Attributes:
        table: of the thesis, by number.
        pairs: the one said to be better, then the other.
        spread: whether its standard deviation has to be lower as well.
        least_pairs: how many pairs have to be there; all if not given.
    """

    table: str
    pairs: tuple[tuple[Cell, Cell], ...]
    spread: bool = False
    least_pairs: int = 0

    @property
    def rule(self) -> str:
        more = " and the lower standard deviation" if self.spread else ""
        return f"lower mean average KL{more}, Welch's p below {SURE}, in every pair that is there"

    def find(self, evidence: Evidence) -> Finding:
        table = evidence.tables.get(self.table, {})
        there = [pair for pair in self.pairs if enough(table, pair)]
        if len(there) < (self.least_pairs or 1):
            return lacking(few(table, (cell for pair in self.pairs for cell in pair)))
        parts, holds = [], []
        for better, other in there:
            found = welch(table[other], table[better])
            calmer = table[better].std < table[other].std
            holds.append(found.value > 0 and found.p < SURE and (calmer or not self.spread))
            spread = f", sd {table[better].std:.4f} against {table[other].std:.4f}" * self.spread
            parts.append(tested(f"{other.name} less {better.name}", found) + spread)
        used = [cell for pair in there for cell in pair]
        return all(holds), "; ".join(parts) + evidence.departing(used)


@dataclass(frozen=True)
class Alike:
    """Whether means of several configurations are told apart by nothing, group by group."""

    table: str
    groups: tuple[tuple[Cell, ...], ...]

    @property
    def rule(self) -> str:
        return f"one-way analysis of variance finds no difference (p at least {SURE}) in any group"

    def find(self, evidence: Evidence) -> Finding:
        table = evidence.tables.get(self.table, {})
        if not all(enough(table, group) for group in self.groups):
            return lacking(few(table, (cell for group in self.groups for cell in group)))
        parts, holds = [], []
        for group in self.groups:
            value, p = f_test([table[cell] for cell in group])
            means = [table[cell].mean for cell in group]
            holds.append(p >= SURE)
            named = f"{group[0].contrast}, " + " and ".join(
                dict.fromkeys(DIVERGENCES[cell.divergence] for cell in group)
            )
            parts.append(f"{named}: {min(means):.4f} to {max(means):.4f}, F {value:.2f}, p {p:.2g}")
        used = [cell for group in self.groups for cell in group]
        return all(holds), "; ".join(parts) + evidence.departing(used)


@dataclass(frozen=True)
class Near:
    """Whether two means are as good as equal."""

    table_of_first: str
    first: Cell
    table_of_second: str
    second: Cell
    within: float

    @property
    def rule(self) -> str:
        return f"means less than {self.within:g} apart"

    def find(self, evidence: Evidence) -> Finding:
        tables = [evidence.tables.get(n, {}) for n in (self.table_of_first, self.table_of_second)]
        cells = (self.first, self.second)
        for table, cell in zip(tables, cells, strict=True):
            if not enough(table, [cell]):
                return lacking([cell])
        found = welch(*(table[cell] for table, cell in zip(tables, cells, strict=True)))
        what = tested(f"{self.first.name} less {self.second.name}", found)
        return abs(found.value) < self.within, what + evidence.departing(cells)


@dataclass(frozen=True)
class AtFloor:
    """Whether estimators trained to the optimum all end where exact posterior draws do."""

    table: str
    cells: tuple[Cell, ...]
    within: float

    @property
    def rule(self) -> str:
        return (
            f"every mean is within {self.within:g} of {FLOOR}, the average KL of exact posterior "
            "draws"
        )

    def find(self, evidence: Evidence) -> Finding:
        table = evidence.tables.get(self.table, {})
        there = {cell: table[cell] for cell in self.cells if enough(table, [cell])}
        if not there:
            return lacking(few(table, self.cells))
        above = {cell: own.mean - FLOOR for cell, own in there.items()}
        ends = ", ".join(f"{cell.name} {value:+.4f}" for cell, value in above.items())
        holds = all(abs(value) < self.within for value in above.values())
        return holds, f"above it: {ends}{evidence.departing(there)}"
