"""Advice to exclude columns: those that determine the target, and those that number the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.data.checks import is_constant
from bnnbench.data.own_table.column_issues import Policy
from bnnbench.data.own_table.exact_relations import determining_columns
from bnnbench.notes import join_words

MAX_TARGET_CORRELATION = 0.999
"""A column with a higher rank correlation is suspected of leaking the target."""

MAX_ROUNDS = 3
"""Sets of several columns that are looked for, each without those found before."""


@dataclass(frozen=True)
class Leak:
    """Columns of the file that determine the target.

    Attributes:
        columns: their names.
        target: its name.
        agreement: the rank correlation of a single feature, if it is nearly 1 or -1.
    """

    columns: tuple[str, ...]
    target: str
    agreement: float | None = None

    def __str__(self) -> str:
        names = join_words(self.columns)
        if self.agreement is not None:
            return f"{names} alone determines {self.target} (rank correlation {self.agreement:.4f})"
        how = "together determine" if len(self.columns) > 1 else "alone determines"
        return f"{names} {how} {self.target} exactly"


def find_leaks(
    inputs: Mapping[str, np.ndarray],
    target: str,
    targets: np.ndarray,
    sources: Mapping[str, str] | None = None,
) -> list[Leak]:
    """Find the columns that determine the target: one whose order is the same, or several exactly.

    Args:
        inputs: `[N]` values of each feature, NaN where there is no value.
        target: the name of the target.
        targets: `[N]`.
        sources: the file's column of each feature whose name differs from it.
    """
    columns = {name: (sources or {}).get(name, name) for name in inputs}
    found_alone = _same_order(inputs, target, targets, columns)
    leaks = [*{leak.columns: leak for leak in found_alone}.values()]
    for _ in range(MAX_ROUNDS):
        known = {name for leak in leaks for name in leak.columns}
        rest = {name: values for name, values in inputs.items() if columns[name] not in known}
        matrix = np.column_stack([*rest.values()]) if rest else np.empty((len(targets), 0))
        found = determining_columns(matrix, targets, [columns[name] for name in rest])
        if not found:
            break
        leaks.append(Leak(found, target))
    return leaks


def _same_order(
    inputs: Mapping[str, np.ndarray],
    target: str,
    targets: np.ndarray,
    columns: Mapping[str, str],
) -> Iterator[Leak]:
    """Yield the features that sort the rows as the target does, or in reverse."""
    ranks = _ranks(targets)
    for name, values in inputs.items():
        present = ~np.isnan(values)
        if present.sum() < 3 or is_constant(values):
            continue
        target_ranks = ranks[present] if present.all() else _ranks(targets[present])
        if np.ptp(target_ranks) == 0:
            continue
        agreement = float(np.corrcoef(_ranks(values[present]), target_ranks)[0, 1])
        if abs(agreement) > MAX_TARGET_CORRELATION:
            yield Leak((columns[name],), target, agreement)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks; ties share their mean rank."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[index]


def exclusion_advice(
    numbering: Collection[str], leaks: Sequence[Leak], inputs: Collection[str], policy: Policy
) -> list[str]:
    """Return one sentence that advises to exclude columns, if there are any.

    Args:
        numbering: the columns that number the rows.
        leaks: the columns that determine the target.
        inputs: the columns of the file that are inputs.
        policy: the decisions made so far.
    """
    leaking = list(dict.fromkeys(name for leak in leaks for name in leak.columns))
    names = list(dict.fromkeys([*numbering, *leaking]))
    nothing_left = {*inputs} <= {*names}
    if not names or (nothing_left and not leaks):
        return []
    reasons = [f"{name} numbers the rows, and new rows are outside its range" for name in numbering]
    reasons += map(str, leaks)
    they_are, them = ("it is", "it") if len(names) == 1 else ("they are", "them")
    advice = "use other inputs" if nothing_left else f"exclude {them} with {policy.without(*names)}"
    if leaks:
        target = leaks[0].target
        condition = f"if {they_are} not known before {target}, {advice}"
        if leaking != names:
            condition = f"{advice}, but keep {join_words(leaking)} if known before {target}"
        advice = f"{condition}; the RMSE may then rise, since it is too low with {them}"
    return [f"{'; '.join(reasons)}: {advice}"]
