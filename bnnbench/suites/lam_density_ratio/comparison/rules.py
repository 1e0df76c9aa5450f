"""Rules on means over repetitions, which apply to the thesis's tables too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bnnbench.results.claims import CheckResult
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import (
    AVERAGE_KL_FLOOR,
    Cell,
)
from bnnbench.suites.lam_density_ratio.comparison.statistics import (
    Sample,
    WelchTest,
    f_test,
    welch,
)
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES

MIN_REPETITIONS = 10
"""Number of repetitions below which a test has too little power."""

SIGNIFICANCE = 0.05
"""Significance level of the tests."""


def describe_sample(sample: Sample) -> str:
    """Return `1.3267 (sd 0.0041, n 30)`."""
    return f"{sample.mean:.4f} (sd {sample.std:.4f}, n {sample.size})"


def describe_test(name: str, test: WelchTest) -> str:
    """Return `prior: +0.0540, p 3.3e-08`."""
    return f"{name}: {test.difference:+.4f}, p {test.p:.2g}"


def has_enough(table: Mapping[Cell, Sample], cells: Iterable[Cell]) -> bool:
    """Return whether all configurations have `MIN_REPETITIONS` finished repetitions."""
    return all(cell in table and table[cell].size >= MIN_REPETITIONS for cell in cells)


def not_enough_repetitions(table: Mapping[Cell, Sample], cells: Iterable[Cell]) -> CheckResult:
    """Return the result "not tested", with the configurations that lack repetitions."""
    names = [f"{cell.setting} {cell.name}" for cell in cells if not has_enough(table, [cell])]
    rest = f" and {len(names) - 2} more" if len(names) > 2 else ""
    text = f"fewer than {MIN_REPETITIONS} finished repetitions: {'; '.join(names[:2])}{rest}"
    return None, text


@dataclass(frozen=True)
class Better:
    """Whether the first configuration of each pair has a significantly lower mean.

    Attributes:
        table: number of the table in the thesis.
        pairs: the configuration claimed to be better, then the other.
        spread: whether its standard deviation must be lower too.
        min_pairs: number of pairs that must be available; 0 for one.
    """

    table: str
    pairs: tuple[tuple[Cell, Cell], ...]
    spread: bool = False
    min_pairs: int = 1

    @property
    def rule(self) -> str:
        addition = " and standard deviation" if self.spread else ""
        return (
            f"lower mean average KL{addition}, Welch's p below {SIGNIFICANCE}, in every available "
            "pair"
        )

    def check(self, evidence: Evidence) -> CheckResult:
        table = evidence.tables.get(self.table, {})
        available = [pair for pair in self.pairs if has_enough(table, pair)]
        if len(available) < self.min_pairs:
            return not_enough_repetitions(table, (cell for pair in self.pairs for cell in pair))
        parts, holds = [], []
        for better, other in available:
            test = welch(table[other], table[better])
            significant = test.difference > 0 and test.p < SIGNIFICANCE
            lower_std = table[better].std < table[other].std
            holds.append(significant and (lower_std or not self.spread))
            spread = f", sd {table[better].std:.4f} against {table[other].std:.4f}" * self.spread
            parts.append(describe_test(f"{other.name} minus {better.name}", test) + spread)
        used = [cell for pair in available for cell in pair]
        return all(holds), "; ".join(parts) + evidence.deviation_note(used)


@dataclass(frozen=True)
class NoDifference:
    """Whether the means of several configurations do not differ significantly, in each group."""

    table: str
    groups: tuple[tuple[Cell, ...], ...]

    @property
    def rule(self) -> str:
        return f"one-way analysis of variance has p of at least {SIGNIFICANCE} in every group"

    def check(self, evidence: Evidence) -> CheckResult:
        table = evidence.tables.get(self.table, {})
        if not all(has_enough(table, group) for group in self.groups):
            return not_enough_repetitions(table, (cell for group in self.groups for cell in group))
        parts, holds = [], []
        for group in self.groups:
            value, p = f_test([table[cell] for cell in group])
            means = [table[cell].mean for cell in group]
            holds.append(p >= SIGNIFICANCE)
            group_name = f"{group[0].contrast}, " + " and ".join(
                dict.fromkeys(DIVERGENCES[cell.divergence] for cell in group)
            )
            parts.append(
                f"{group_name}: {min(means):.4f} to {max(means):.4f}, F {value:.2f}, p {p:.2g}"
            )
        used = [cell for group in self.groups for cell in group]
        return all(holds), "; ".join(parts) + evidence.deviation_note(used)


@dataclass(frozen=True)
class CloseMeans:
    """Whether two means are within a tolerance."""

    table_of_first: str
    first: Cell
    table_of_second: str
    second: Cell
    within: float

    @property
    def rule(self) -> str:
        return f"means less than {self.within:g} apart"

    def check(self, evidence: Evidence) -> CheckResult:
        tables = [evidence.tables.get(n, {}) for n in (self.table_of_first, self.table_of_second)]
        cells = (self.first, self.second)
        for table, cell in zip(tables, cells, strict=True):
            if not has_enough(table, [cell]):
                return not_enough_repetitions(table, [cell])
        test = welch(*(table[cell] for table, cell in zip(tables, cells, strict=True)))
        text = describe_test(f"{self.first.name} minus {self.second.name}", test)
        return abs(test.difference) < self.within, text + evidence.deviation_note(cells)


@dataclass(frozen=True)
class AtFloor:
    """Whether all means are close to the score of exact posterior draws."""

    table: str
    cells: tuple[Cell, ...]
    within: float

    @property
    def rule(self) -> str:
        return (
            f"every mean is within {self.within:g} of {AVERAGE_KL_FLOOR}, the average KL of exact "
            "posterior draws"
        )

    def check(self, evidence: Evidence) -> CheckResult:
        table = evidence.tables.get(self.table, {})
        available = {cell: table[cell] for cell in self.cells if has_enough(table, [cell])}
        if not available:
            return not_enough_repetitions(table, self.cells)
        excess = {cell: sample.mean - AVERAGE_KL_FLOOR for cell, sample in available.items()}
        text = ", ".join(f"{cell.name} {value:+.4f}" for cell, value in excess.items())
        holds = all(abs(value) < self.within for value in excess.values())
        return holds, f"mean minus {AVERAGE_KL_FLOOR}: {text}{evidence.deviation_note(available)}"
