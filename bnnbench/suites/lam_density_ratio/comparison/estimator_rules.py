"""Rules on groups of three estimators that share setting, contrast and divergence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bnnbench.results.claims import Finding
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import (
    CONTRASTS,
    DIVERGENCES,
    ESTIMATORS,
    Cell,
)
from bnnbench.suites.lam_density_ratio.comparison.rules import SURE, enough, few, lacking
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, welch

Groups = tuple[tuple[str, tuple[Cell, ...]], ...]
"""The thesis's table that a group stands in, and its configurations from D to T."""


@dataclass(frozen=True)
class InOrder:
    """Whether the means of the three estimators stand in an order in every group.

    Attributes:
        groups: table, then the cells from lowest to highest.
    """

    groups: Groups

    @property
    def rule(self) -> str:
        return f"means of {', '.join(ESTIMATORS)} rise in this order in every group that is there"

    def find(self, evidence: Evidence) -> Finding:
        there = list(groups_there(evidence, self.groups))
        if not there:
            return lacking(missing(evidence, self.groups))
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

    groups: Groups

    @property
    def rule(self) -> str:
        return (
            "Welch's p below 0.05 over the number of pairs in at least half of the groups; with so "
            "many pairs one in twenty is below 0.05 by chance"
        )

    def find(self, evidence: Evidence) -> Finding:
        there = list(groups_there(evidence, self.groups))
        if not there:
            return lacking(missing(evidence, self.groups))
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

    groups: Groups

    @property
    def rule(self) -> str:
        return (
            f"Welch's p is below {SURE} for two samples half of their shared standard deviation "
            "apart, of as many repetitions as there are"
        )

    def find(self, evidence: Evidence) -> Finding:
        there = list(groups_there(evidence, self.groups))
        if not there:
            return lacking(missing(evidence, self.groups))
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


def missing(evidence: Evidence, groups: Groups) -> list[Cell]:
    """The configurations for which some group is not."""
    return [cell for table, group in groups for cell in few(evidence.tables.get(table, {}), group)]


def pairs_of(table: Mapping[Cell, Sample], group: Sequence[Cell]) -> Iterator[tuple[str, float]]:
    """Every pair of a group by name, and Welch's p."""
    for a, b in combinations(group, 2):
        name = (
            f"{CONTRASTS[a.contrast]}, {DIVERGENCES[a.divergence]}, {a.estimator} and {b.estimator}"
        )
        yield name, welch(table[a], table[b]).p
