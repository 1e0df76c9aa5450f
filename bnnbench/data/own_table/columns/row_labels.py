"""Recognise columns that label the rows: times, row numbers and groups, not measurements."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np

from bnnbench.data.own_table.cells.dates import FIRST_YEAR, LAST_YEAR

PARTS = (
    (1, (12,)), (1, (4,)), (1, (52, 53)), (1, (365, 366)), (1, (28, 29, 30, 31)),
    (0, (23,)), (1, (24,)), (0, (30, 40, 45, 50, 55, 59)), (0, (30, 40, 45, 50, 55, 59)),
)  # fmt: skip
"""Smallest and possible largest values of parts of a time: month, quarter, week, day of the year,
day, hour, minute and second."""

MIN_PERIODS = 5
"""Different times from which numbers may be times if several rows have the same."""

MIN_EQUAL_STEPS = 0.9
"""Fraction of the steps between successive times that are equal."""

MAX_COUNT_RATIO = 2.0
"""Rows per time relative to the median, if rows of equal times have no order."""

STEPS_PER_YEAR = np.array([1.0, 4.0, 12.0, 52.18, 365.25])
"""Range of years and decimal years."""

EPOCH_SECONDS = (3e8, 4e9)
"""Seconds since 1970 that numbers may mean: those of the years 1979 to 2096. Their steps have a
common divisor that is a part or multiple of a day, which is rare for other numbers."""

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


def chronological_columns(
    columns: Mapping[str, np.ndarray], dates: Collection[str]
) -> tuple[str, ...]:
    """Return the columns by which the rows are in chronological order, forwards or backwards.

    These are dates, years, decimal years or seconds since 1970 with equal steps, or several columns
    such as year, month and day, each of which counts within a value of the previous ones. Row
    numbers, levels of an experiment, and other sorted measurements do not qualify.

    Args:
        columns: `[N]` values of each input.
        dates: the inputs that were dates.

    Returns:
        Their names, the longest part of the time first; empty if there are none.
    """
    complete = {name: values for name, values in columns.items() if not np.isnan(values).any()}
    for step in (1, -1):
        ordered = {name: values[::step] for name, values in complete.items()}
        rising = {name: v for name, v in ordered.items() if np.all(np.diff(v) >= 0) and np.ptp(v)}
        for name in sorted(rising, key=lambda name: name not in dates):
            values = rising[name]
            chain, new = _refined(name, ordered)
            is_time = _counts_years(values) or _counts_seconds(values)
            if name in dates or (is_time and (new.all() or _has_equal_counts(values))):
                return chain
            if len(chain) > 1 and new.all() and _counts_days(values, ordered[chain[1]]):
                return chain
    return ()


def _counts_years(values: np.ndarray) -> bool:
    """Whether rising numbers are years or decimal years, of which a few may be missing."""
    steps = np.diff(np.unique(values))
    equal = abs(steps - np.median(steps)) < 0.011  # rounded to two digits or more
    steps_per_year = STEPS_PER_YEAR * np.mean(steps[equal])
    return (
        bool(values[0] >= FIRST_YEAR and values[-1] <= LAST_YEAR)
        and np.mean(equal) >= MIN_EQUAL_STEPS
        and bool(np.any(abs(steps_per_year - 1) < 0.05))
    )


def _counts_seconds(values: np.ndarray) -> bool:
    """Whether rising numbers are times since 1970 in seconds, milli-, micro- or nanoseconds."""
    for unit in (1.0, 1e3, 1e6, 1e9):
        if EPOCH_SECONDS[0] <= values[0] / unit and values[-1] / unit <= EPOCH_SECONDS[1]:
            steps = np.diff(np.unique(values)) / unit
            step = np.gcd.reduce(np.ceil(steps).astype(np.int64))
            in_day = step > 1 and (86_400 % step == 0 or step % 86_400 == 0)
            return bool(in_day and (step % 60 == 0 or np.ptp(steps) == 0))
    return False


def _has_equal_counts(values: np.ndarray) -> bool:
    """Whether several times occur in about equally many rows each, as in a panel."""
    counts = np.unique(values, return_counts=True)[1]
    return len(counts) >= MIN_PERIODS and bool(counts.max() <= MAX_COUNT_RATIO * np.median(counts))


def _refined(head: str, columns: Mapping[str, np.ndarray]) -> tuple[tuple[str, ...], np.ndarray]:
    """Add parts of the time that count within each value of those before them.

    Returns:
        The columns, and which rows but the first differ in them from the row before, `[N - 1]`.
    """
    chain, new = [head], np.diff(columns[head]) > 0
    for low, highs in PARTS:
        for name, values in columns.items():
            steps = np.diff(values)
            in_range = values.min() == low and values.max() in highs
            rises = np.all(steps[~new] >= 0) and np.any(steps[~new] > 0)
            if name not in chain and in_range and rises and not np.any(values % 1):
                chain, new = [*chain, name], new | (steps > 0)
    return tuple(chain), new


def _counts_days(months: np.ndarray, days: np.ndarray) -> bool:
    """Whether all days from the first to the last are counted by month, of an unknown year."""
    if np.any(months % 1) or months[0] < 1 or months[-1] > 12:
        return False
    changes = np.diff(32 * months + days) != 0
    first_days = [np.datetime64(year, "M") + months.astype(int) - 1 for year in ("2001", "2004")]
    dates = [first.astype("M8[D]") + days.astype(int) for first in first_days]
    return any(np.all(np.diff(one)[changes] == np.timedelta64(1, "D")) for one in dates)


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
