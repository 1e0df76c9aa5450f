"""Rules on groups of three estimators with the same setting, contrast and divergence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bnnbench.results.claims import CheckResult
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import Cell
from bnnbench.suites.lam_density_ratio.comparison.rules import (
    SIGNIFICANCE,
    has_enough,
    not_enough_repetitions,
)
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, welch
from bnnbench.suites.lam_density_ratio.names import CONTRASTS, DIVERGENCES, ESTIMATORS, SYMBOLS

EstimatorGroups = tuple[tuple[str, tuple[Cell, ...]], ...]
"""For each group: the number of its table in the thesis, and its configurations D, r and T."""


@dataclass(frozen=True)
class MeansInOrder:
    """Whether the means of the three estimators have the same order in every group.

    Attributes:
        groups: table, then the cells from lowest to highest mean.
    """

    groups: EstimatorGroups

    @property
    def rule(self) -> str:
        return f"means increase in the order {', '.join(ESTIMATORS.values())} in every group"

    def check(self, evidence: Evidence) -> CheckResult:
        complete = list(complete_groups(evidence, self.groups))
        if not complete:
            return _not_enough_repetitions(evidence, self.groups)
        parts, holds = [], []
        for table, group in complete:
            means = [evidence.tables[table][cell].mean for cell in group]
            holds.append(means == sorted(means))
            ends = ", ".join(
                f"{SYMBOLS[cell.estimator]} {mean:.4f}"
                for cell, mean in zip(group, means, strict=True)
            )
            parts.append(f"{group[0].contrast}, {DIVERGENCES[group[0].divergence]}: {ends}")
        used = [cell for _, group in complete for cell in group]
        return all(holds), "; ".join(parts) + evidence.deviation_note(used)


@dataclass(frozen=True)
class Distinguishable:
    """Whether estimators of one divergence differ significantly.

    Attributes:
        groups: table, then its cells.
    """

    groups: EstimatorGroups

    @property
    def rule(self) -> str:
        return (
            "Welch's p is below 0.05 divided by the number of pairs in at least half of the groups "
            "(Bonferroni)"
        )

    def check(self, evidence: Evidence) -> CheckResult:
        complete = list(complete_groups(evidence, self.groups))
        if not complete:
            return _not_enough_repetitions(evidence, self.groups)
        by_group = [
            list(pairwise_p_values(evidence.tables[table], group)) for table, group in complete
        ]
        pairs = [pair for group in by_group for pair in group]
        corrected = SIGNIFICANCE / len(pairs)
        significant = sum(any(p < corrected for _, p in group) for group in by_group)
        uncorrected = sum(p < SIGNIFICANCE for _, p in pairs)
        name, smallest = min(pairs, key=lambda pair: pair[1])
        used = [cell for _, group in complete for cell in group]
        text = (
            f"{significant} of {len(by_group)} groups; {uncorrected} of {len(pairs)} pairs below "
            f"0.05, the smallest p {smallest:.2g} ({name})"
        )
        return 2 * significant >= len(by_group), text + evidence.deviation_note(used)


@dataclass(frozen=True)
class HalfDeviationSignificant:
    """Whether means half a standard deviation apart differ significantly."""

    groups: EstimatorGroups

    @property
    def rule(self) -> str:
        return (
            f"Welch's p is below {SIGNIFICANCE} for two samples half of their pooled standard "
            "deviation apart, with the number of repetitions of the runs"
        )

    def check(self, evidence: Evidence) -> CheckResult:
        complete = list(complete_groups(evidence, self.groups))
        if not complete:
            return _not_enough_repetitions(evidence, self.groups)
        used = [cell for _, group in complete for cell in group]
        size = max(evidence.tables[table][cell].size for table, group in complete for cell in group)
        p = welch(Sample(0.5, 1.0, size), Sample(0.0, 1.0, size)).p
        pairs = [
            (a, b, evidence.tables[table])
            for table, group in complete
            for a, b in combinations(group, 2)
        ]
        distant = [
            (a, b, table)
            for a, b, table in pairs
            if _standardised_difference(table[a], table[b]) >= 0.5
        ]
        insignificant = sum(welch(table[a], table[b]).p >= SIGNIFICANCE for a, b, table in distant)
        return p < SIGNIFICANCE, (
            f"with {size} repetitions p is {p:.3f}; of {len(pairs)} pairs of estimators "
            f"{len(distant)} are further apart, {insignificant} of them with p of at least "
            f"{SIGNIFICANCE}"
            f"{evidence.deviation_note(used)}"
        )


def _standardised_difference(first: Sample, second: Sample) -> float:
    """Return the difference of two means in pooled standard deviations."""
    pooled = math.sqrt((first.std**2 + second.std**2) / 2)
    return abs(first.mean - second.mean) / pooled


def complete_groups(
    evidence: Evidence, groups: Sequence[tuple[str, tuple[Cell, ...]]]
) -> Iterator[tuple[str, tuple[Cell, ...]]]:
    """Yield the groups whose configurations all have enough repetitions."""
    for table, group in groups:
        if has_enough(evidence.tables.get(table, {}), group):
            yield table, group


def _not_enough_repetitions(evidence: Evidence, groups: EstimatorGroups) -> CheckResult:
    samples: dict[Cell, Sample] = {}
    for table, _ in groups:
        samples |= evidence.tables.get(table, {})
    return not_enough_repetitions(samples, (cell for _, group in groups for cell in group))


def pairwise_p_values(
    table: Mapping[Cell, Sample], group: Sequence[Cell]
) -> Iterator[tuple[str, float]]:
    """Yield the name of every pair of a group, and Welch's p."""
    for a, b in combinations(group, 2):
        symbols = f"{SYMBOLS[a.estimator]} and {SYMBOLS[b.estimator]}"
        name = f"{CONTRASTS[a.contrast]}, {DIVERGENCES[a.divergence]}, {symbols}"
        yield name, welch(table[a], table[b]).p
