"""Recognise columns that number the rows or name groups of rows, rather than measure something.

The values decide. A name is only a hint, without which they must be more conspicuous.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import numpy as np

KEY = re.compile(r"(.*[\W_])?(id|key)|.*[\W_](nr|no)|nr|(?-i:.*[a-z](I[dD]|N[or]))", re.I)
"""Names of columns that identify a row or a group of rows."""

COUNTER = re.compile(r"(.*[\W_])?(number|index|code)", re.I)
"""Names of columns that count the rows, if their values do, or measure something: octane_number."""

GROUP = re.compile(
    r"(patient|subject|participant|person|customer|user|device|machine|batch|site|station)s?", re.I
)
"""Names of what a row may belong to; `user_age` measures something."""

MIN_GROUPS, MIN_NAMED_GROUPS = 20, 10
"""Values of a column of groups, and of one whose name is a hint."""

MIN_SHARING = 0.5
"""Fraction of the rows that share their group with another row."""

YEARS = 1800, 2100

MIN_SHARE, MIN_RATIO, MIN_ROUGHNESS = 0.1, 3.0, 0.5
"""Variance between groups: as a fraction of the whole variance, in units of what chance causes, and
that between neighbours as a fraction of what it is for groups in random order."""


def numbers_rows(name: str, values: np.ndarray, rows: int) -> bool:
    """Whether a column counts the rows of a file or is a key: an integer that differs in each row.

    The values of a key are in order, too dense to differ by chance, or evenly distributed.

    Args:
        name: of the column.
        values: `[N]` of the rows in use.
        rows: the number of rows of the file.
    """
    if np.isnan(values).any() or np.any(values % 1) or len(np.unique(values)) < len(values):
        return False
    steps, span = np.diff(values), np.ptp(values)
    in_order = bool(np.all(steps > 0) or np.all(steps < 0))
    if (len(values) == rows or in_order) and values.min() >= 0 and values.max() <= rows:
        return True
    if COUNTER.fullmatch(name) and np.all(steps == 1):
        return True
    even = np.linspace(values.min(), values.max(), len(values))
    is_even = np.abs(np.sort(values) - even).max() < 1.5 * span / len(values) ** 0.5
    dense = len(values) ** 2 > 10 * span
    return bool(KEY.fullmatch(name) and (in_order or dense or is_even))


def group_columns(inputs: Mapping[str, np.ndarray], targets: np.ndarray) -> dict[str, int]:
    """Return the inputs that seem to name groups of rows, and the number of their groups.

    A column of which another of them is a function stands for both.

    Args:
        inputs: `[N]` values of each input.
        targets: `[N]`.
    """
    found: dict[str, np.ndarray] = {}
    for name, values in inputs.items():
        others = (column for other, column in inputs.items() if other != name)
        index = _groups(name, values, (targets, *others))
        if index is not None:
            found[name] = index
    counts = {name: int(index.max()) + 1 for name, index in found.items()}
    ranked = sorted(found, key=lambda name: -counts[name])
    return {
        name: counts[name]
        for place, name in enumerate(ranked)
        if not any(_is_function(found[name], found[finer]) for finer in ranked[:place])
    }


def _is_function(of: np.ndarray, finer: np.ndarray) -> bool:
    return len(np.unique(finer + 1j * of)) == len(np.unique(finer))


def _groups(name: str, values: np.ndarray, others: Iterable[np.ndarray]) -> np.ndarray | None:
    """Return the group of each row, if the column seems to name groups."""
    if np.isnan(values).any() or np.any(values % 1):
        return None
    distinct, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    count, span = len(distinct), np.ptp(distinct) + 1
    named = bool(KEY.fullmatch(name) or GROUP.fullmatch(name))
    too_few = count < (MIN_NAMED_GROUPS if named else MIN_GROUPS)
    if too_few or np.mean(counts[index] > 1) < MIN_SHARING:
        return None
    is_year = YEARS[0] <= distinct[0] and distinct[-1] <= YEARS[1]
    is_label = count > 0.9 * span or count < 0.1 * span
    if named and is_label:
        return index
    if not named and (is_year or count < 0.5 * span):
        return None
    return index if any(_is_rough(index, counts, other) for other in others) else None


def _is_rough(index: np.ndarray, counts: np.ndarray, values: np.ndarray) -> bool:
    """Whether values depend on the group, and neighbouring groups are as different as others.

    Values depend smoothly on a measurement, but the order of names means nothing.
    """
    if np.isnan(values).any():
        return False
    values = np.unique(values, return_inverse=True)[1].astype(float)  # no value is far outside
    means = np.bincount(index, values) / counts
    within = float(np.sum((values - means[index]) ** 2)) / max(len(values) - len(counts), 1)
    between = np.var(means, ddof=1) - within * np.mean(1 / counts)
    steps, chance = np.sum(np.diff(means) ** 2), within * np.sum(1 / counts[1:] + 1 / counts[:-1])
    rough = steps - chance > MIN_ROUGHNESS * 2 * (len(means) - 1) * between
    return bool(rough and between > MIN_SHARE * np.var(values) and steps > MIN_RATIO * chance)
