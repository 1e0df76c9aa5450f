"""Recognise columns that number the rows or name groups of rows, rather than measure something."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

KEY = re.compile(r"(.*[\W_])?(id|key)|.*[\W_](nr|no)|nr|(?-i:.*[a-z](I[dD]|N[or]))", re.I)
"""Names of columns that identify a row or a group of rows."""

COUNTER = re.compile(r"(.*[\W_])?(number|index|code)", re.I)
"""Names of columns that count the rows, if their values do, or measure something: octane_number."""

GROUP = re.compile(
    r"(id[\W_])?(patient|subject|participant|person|customer|user|device|machine|batch|site|station)"
    r"(e?s|[\W_](number|code))?",
    re.I,
)
"""Names of entities that a row may belong to; `user_age` is a measurement."""

MIN_GROUPS, MIN_NAMED_GROUPS = 20, 10
"""Values of a column of groups, and of one whose name is a hint."""

MIN_SHARING = 0.5
"""Fraction of the rows that share their group with another row."""

MIN_ROWS_OF_GROUP = 5
"""Rows of each of `MIN_GROUPS` groups that are recognised by an effect."""

MAX_COMPARED = 10
"""Inputs, besides the target, that may depend on the group."""

YEARS = 1800, 2100

MIN_F, MIN_ROUGHNESS = 10.0, 0.6
"""F statistic of an effect, and the variance between neighbouring groups as a fraction of what it
is for groups in random order."""


def numbers_rows(name: str, values: np.ndarray, rows: int) -> bool:
    """Whether a column counts the rows of a file, or is a key that differs in each row.

    Args:
        name: of the column.
        values: `[N]` of the rows in use.
        rows: the number of rows of the file.
    """
    if np.isnan(values).any() or np.any(values % 1) or len(np.unique(values)) < len(values):
        return False
    steps = np.diff(values)
    complete = len(values) == rows or bool(np.all(steps > 0) or np.all(steps < 0))
    counts = complete and values.min() >= 0 and values.max() <= rows
    return bool(counts or KEY.fullmatch(name) or (COUNTER.fullmatch(name) and np.all(steps == 1)))


def group_column(inputs: Mapping[str, np.ndarray], targets: np.ndarray) -> tuple[str, int] | None:
    """Return the input that seems to name groups of rows, and the number of its groups.

    If there are several, it is the one with the most groups.

    Args:
        inputs: `[N]` values of each input.
        targets: `[N]`.
    """
    complete = [values for values in inputs.values() if not np.isnan(values).any()]
    compared = (targets, *complete[:MAX_COMPARED])
    ranks = np.column_stack([np.unique(one, return_inverse=True)[1] for one in compared])
    counts = {
        name: len(np.unique(values))
        for name, values in inputs.items()
        if _names_groups(name, values, ranks)
    }
    return max(counts.items(), key=lambda item: item[1], default=None)


def _names_groups(name: str, values: np.ndarray, ranks: np.ndarray) -> bool:
    """Whether integers repeat, are dense, and have the name of groups or an effect without order.

    Args:
        name: of the column.
        values: `[N]`.
        ranks: `[N, M]` of columns that may depend on the group. Ranks have no outliers.
    """
    if np.isnan(values).any() or np.any(values % 1):
        return False
    distinct, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    density = len(distinct) / (np.ptp(distinct) + 1)
    named = bool(KEY.fullmatch(name) or GROUP.fullmatch(name))
    too_few = len(distinct) < (MIN_NAMED_GROUPS if named else MIN_GROUPS)
    if too_few or np.mean(counts[index] > 1) < MIN_SHARING:
        return False
    if named:
        return bool(density > 0.9 or density < 0.1)  # consecutive, or long codes
    is_year = YEARS[0] <= distinct[0] and distinct[-1] <= YEARS[1]
    large = counts >= MIN_ROWS_OF_GROUP  # the means of others are noisy
    if is_year or density < 0.5 or large.sum() < MIN_GROUPS:
        return False
    starts, rows = np.cumsum(counts) - counts, np.argsort(index, kind="stable")
    means = np.add.reduceat(ranks[rows], starts) / counts[:, None]
    within = ((ranks - means[index]) ** 2).sum(0) / (len(ranks) - len(counts))
    between = counts @ (means - ranks.mean(0)) ** 2 / (len(counts) - 1)
    roughness = (np.diff(means[large], axis=0) ** 2).mean(0)
    is_rough = roughness > MIN_ROUGHNESS * 2 * means[large].var(0)
    return bool(np.any(is_rough & (between > MIN_F * within)))
