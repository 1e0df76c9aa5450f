"""Recognise columns that number the rows or name groups of rows, rather than measure something.

The values decide. A name is only a hint, without which they must be more conspicuous.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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

MAX_COMPARED = 10
"""Inputs, besides the target, that may depend on the group."""

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
    complete = [values for values in inputs.values() if not np.isnan(values).any()]
    compared = (targets, *complete[:MAX_COMPARED])
    ranks = np.column_stack([np.unique(one, return_inverse=True)[1] for one in compared])
    groups = {name: _groups(name, values, ranks) for name, values in inputs.items()}
    found = {name: index for name, index in groups.items() if index is not None}
    counts = {name: int(index.max()) + 1 for name, index in found.items()}
    ranked = sorted(found, key=lambda name: -counts[name])
    return {
        name: counts[name]
        for place, name in enumerate(ranked)
        if not any(_is_function(found[name], found[finer]) for finer in ranked[:place])
    }


def _is_function(of: np.ndarray, finer: np.ndarray) -> bool:
    return len(np.unique(finer + 1j * of)) == len(np.unique(finer))


def _groups(name: str, values: np.ndarray, ranks: np.ndarray) -> np.ndarray | None:
    """Return the group of each row, if the column seems to name groups.

    Args:
        name: of the column.
        values: `[N]`.
        ranks: `[N, M]` of columns that may depend on the group.
    """
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
    return index if _is_rough(index, counts, ranks) else None


def _is_rough(index: np.ndarray, counts: np.ndarray, ranks: np.ndarray) -> bool:
    """Whether a column depends on the group, and neighbouring groups are as different as others.

    It would depend smoothly on a measurement, but the order of names means nothing. Ranks have no
    value far outside the others.
    """
    starts, rows = np.cumsum(counts) - counts, np.argsort(index, kind="stable")
    means = np.add.reduceat(ranks[rows], starts) / counts[:, None]
    within = ((ranks - means[index]) ** 2).sum(0) / max(len(ranks) - len(counts), 1)
    between = means.var(0, ddof=1) - within * np.mean(1 / counts)
    steps = (np.diff(means, axis=0) ** 2).sum(0)
    chance = within * np.sum(1 / counts[1:] + 1 / counts[:-1])
    rough = steps - chance > MIN_ROUGHNESS * 2 * (len(means) - 1) * between
    depends = (between > MIN_SHARE * ranks.var(0)) & (steps > MIN_RATIO * chance)
    return bool(np.any(rough & depends))
