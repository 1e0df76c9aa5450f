"""Rules on means and spreads over repetitions, which the thesis's own tables can be held to too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bnnbench.results.claims import Finding
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import (
    CONTRASTS,
    DIVERGENCES,
    ESTIMATORS,
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


def lacking(cells: Iterable[Cell]) -> Finding:
    """The finding where they are not."""
    names = "; ".join(f"{cell.setting} {cell.name}" for cell in cells)
    return None, f"not all there with {LEAST} repetitions that did not fail: {names}"


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
            return lacking(cell for pair in self.pairs for cell in pair)
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
            return lacking(cell for group in self.groups for cell in group)
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
        if not all(enough(table, [cell]) for table, cell in zip(tables, cells, strict=True)):
            return lacking(cells)
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
            return lacking(self.cells)
        above = {cell: own.mean - FLOOR for cell, own in there.items()}
        ends = ", ".join(f"{cell.name} {value:+.4f}" for cell, value in above.items())
        holds = all(abs(value) < self.within for value in above.values())
        return holds, f"above it: {ends}{evidence.departing(there)}"


@dataclass(frozen=True)
class InOrder:
    """Whether the means of the three estimators stand in an order in every group.

    Attributes:
        groups: table, then the cells from lowest to highest.
    """

    groups: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def rule(self) -> str:
        return f"means of {', '.join(ESTIMATORS)} rise in this order in every group that is there"

    def find(self, evidence: Evidence) -> Finding:
        there = list(groups_there(evidence, self.groups))
        if not there:
            return lacking(cell for _, group in self.groups for cell in group)
        parts, holds = [], []
        for table, group in there:
            means = [evidence.tables[table][cell].mean for cell in group]
            holds.append(means == sorted(means))
            ends = ", ".join(
                f"{cell.estimator} {mean:.4f}" for cell, mean in zip(group, means, strict=True)
            )
            parts.append(f"{group[0].contrast}, {DIVERGENCES[group[0].divergence]}: {ends}")
        used = [cell for _, group in there for cell in group]
        return all(holds), "; ".join(parts) + evidence.departing(used)


@dataclass(frozen=True)
class ToldApart:
    """Whether estimators of one divergence differ by more than chance.

    Attributes:
        groups: table, then its cells.
    """

    groups: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def rule(self) -> str:
        return (
            "Welch's p below 0.05 over the number of pairs in at least half of the groups; with so "
            "many pairs one in twenty is below 0.05 by chance"
        )

    def find(self, evidence: Evidence) -> Finding:
        there = list(groups_there(evidence, self.groups))
        if not there:
            return lacking(cell for _, group in self.groups for cell in group)
        found = [list(pairs_of(evidence.tables[table], group)) for table, group in there]
        pairs = [pair for group in found for pair in group]
        strict = SURE / len(pairs)
        beyond = sum(any(p < strict for _, p in group) for group in found)
        plain = sum(p < SURE for _, p in pairs)
        name, least = min(pairs, key=lambda pair: pair[1])
        used = [cell for _, group in there for cell in group]
        evident = (
            f"{beyond} of {len(found)} groups; {plain} of {len(pairs)} pairs below 0.05, the least "
            f"p {least:.2g} ({name})"
        )
        return 2 * beyond >= len(found), evident + evidence.departing(used)


@dataclass(frozen=True)
class HalfADeviation:
    """Whether means half a standard deviation apart differ by more than chance."""

    groups: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def rule(self) -> str:
        return (
            f"Welch's p is below {SURE} for two samples half of their shared standard deviation "
            "apart, of as many repetitions as there are"
        )

    def find(self, evidence: Evidence) -> Finding:
        there = list(groups_there(evidence, self.groups))
        if not there:
            return lacking(cell for _, group in self.groups for cell in group)
        used = [cell for _, group in there for cell in group]
        size = max(evidence.tables[table][cell].size for table, group in there for cell in group)
        p = welch(Sample(0.5, 1.0, size), Sample(0.0, 1.0, size)).p
        pairs = [
            (a, b, evidence.tables[table])
            for table, group in there
            for a, b in combinations(group, 2)
        ]
        beyond = [(a, b, table) for a, b, table in pairs if _apart(table[a], table[b]) >= 0.5]
        chance = sum(welch(table[a], table[b]).p >= SURE for a, b, table in beyond)
        return p < SURE, (
            f"with {size} repetitions p is {p:.3f}; of {len(pairs)} pairs of estimators "
            f"{len(beyond)} are further apart, {chance} of these with p at least {SURE}"
            f"{evidence.departing(used)}"
        )


def _apart(first: Sample, second: Sample) -> float:
    """The difference of two means in their shared standard deviation."""
    shared = math.sqrt((first.std**2 + second.std**2) / 2)
    return abs(first.mean - second.mean) / shared


def groups_there(
    evidence: Evidence, groups: Sequence[tuple[str, tuple[Cell, ...]]]
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """The groups whose configurations are all there."""
    for table, group in groups:
        if enough(evidence.tables.get(table, {}), group):
            yield table, group


def pairs_of(table: Mapping[Cell, Sample], group: Sequence[Cell]) -> Iterator[tuple[str, float]]:
    """Every pair of a group by name, and Welch's p."""
    for a, b in combinations(group, 2):
        name = (
            f"{CONTRASTS[a.contrast]}, {DIVERGENCES[a.divergence]}, {a.estimator} and {b.estimator}"
        )
        yield name, welch(table[a], table[b]).p
