"""Find the columns by whose values the rows are in chronological order."""

from __future__ import annotations

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
