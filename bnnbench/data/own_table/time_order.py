"""Find the columns by whose values the rows are in chronological order."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from bnnbench.data.own_table.dates import FIRST_YEAR, LAST_YEAR

PARTS = (
    (1, (12,)), (1, (4,)), (1, (52, 53)), (1, (365, 366)), (1, (28, 29, 30, 31)),
    (0, (23,)), (1, (24,)), (0, (30, 40, 45, 50, 55, 59)), (0, (30, 40, 45, 50, 55, 59)),
)  # fmt: skip
"""Smallest and possible largest values of parts of a time: month, quarter, week, day of the year,
day, hour, minute and second."""

MONTH_LENGTHS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])

MIN_PERIODS = 5
"""Different times from which numbers may be times."""

MIN_EQUAL_STEPS = 0.9
"""Fraction of the steps between successive times that are equal."""

MAX_COUNT_RATIO = 2.0
"""Rows of a year relative to the median, if several rows of a year have no order."""

STEPS_PER_YEAR = (4.0, 12.0, 52.18, 365.25)
"""Of decimal years."""

EPOCH_SECONDS = (3e8, 4e9)
"""Seconds since 1970 that numbers may mean: those of the years 1979 to 2096."""

DAY_SECONDS = 86_400.0
"""Steps of seconds since 1970 are parts or multiples of a day, which is rare for other numbers."""

WORKBOOK_DAYS = (25_569, 62_091)
"""Days since 1900, the numbers of dates in workbooks: those of the years 1970 to 2069."""


def chronological_columns(
    columns: Mapping[str, np.ndarray], dates: Collection[str], workbook: bool = False
) -> tuple[str, ...]:
    """Return the columns by which the rows are in chronological order, forwards or backwards.

    These are dates, years, decimal years or seconds since 1970 with equal steps, or several columns
    such as year, month and day, of which each counts within a value of those before it. A number
    of the rows, levels of an experiment, and other sorted measurements are none of these.

    Args:
        columns: `[N]` values of each input.
        dates: the inputs that were dates.
        workbook: whether numbers may be days since 1900.

    Returns:
        Their names, the longest part of the time first; empty if there are none.
    """
    complete = {name: values for name, values in columns.items() if not np.isnan(values).any()}
    for step in (1, -1):
        ordered = {name: values[::step] for name, values in complete.items()}
        rising = {name: v for name, v in ordered.items() if np.all(np.diff(v) >= 0) and np.ptp(v)}
        for name in sorted(rising, key=lambda name: name not in dates):
            is_time = name in dates or _is_year(rising[name])
            if is_time or _has_equal_steps_of_time(rising[name], workbook):
                chain, new = _refined(name, ordered)
                if new.all() or name in dates or _has_equal_counts(rising[name]):
                    return chain
        for name, values in rising.items():
            chain, new = _refined(name, ordered)
            if len(chain) > 1 and new.all() and _counts_days(values, ordered[chain[1]]):
                return chain
    return ()


def _is_year(values: np.ndarray) -> bool:
    """Whether rising numbers are successive years, of which a few may be missing."""
    if np.any(values % 1) or values[0] < FIRST_YEAR or values[-1] > LAST_YEAR:
        return False
    steps = np.diff(np.unique(values))
    return len(steps) > 0 and bool(np.mean(steps == 1) >= MIN_EQUAL_STEPS)


def _has_equal_steps_of_time(values: np.ndarray, workbook: bool) -> bool:
    """Whether rising numbers are decimal years, times since 1970, or days of a workbook."""
    steps = np.diff(np.unique(values))
    if len(steps) < MIN_PERIODS - 1:
        return False
    step, low, high = float(np.median(steps)), values[0], values[-1]
    mean = float(np.mean(steps))
    if low >= FIRST_YEAR and high <= LAST_YEAR:  # rounded to two digits or more
        per_year = min(STEPS_PER_YEAR, key=lambda count: abs(count * mean - 1))
        near = abs(steps - step) < 0.011
        return abs(per_year * mean - 1) < 0.05 and bool(np.mean(near) >= MIN_EQUAL_STEPS)
    equal = float(np.mean(np.isclose(steps, step, rtol=1e-3)))
    if workbook and WORKBOOK_DAYS[0] <= low and high <= WORKBOOK_DAYS[1]:
        return equal >= 0.5 or bool(np.isin(steps, (28, 29, 30, 31)).all())
    return any(
        unit * EPOCH_SECONDS[0] <= low
        and high <= unit * EPOCH_SECONDS[1]
        and (np.all(steps % (unit * DAY_SECONDS) == 0) or (equal >= MIN_EQUAL_STEPS and step > 1))
        and min(step / unit % DAY_SECONDS, DAY_SECONDS % (step / unit)) == 0
        for unit in (1.0, 1e3, 1e6, 1e9)
    )


def _has_equal_counts(values: np.ndarray) -> bool:
    """Whether about as many rows have each of several times, as in a panel."""
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
            if name in chain or values.min() != low or values.max() not in highs:
                continue
            steps = np.diff(values)
            if np.any(values % 1) or np.any(steps[~new] < 0) or not np.any(steps[~new] > 0):
                continue
            chain, new = [*chain, name], new | (steps > 0)
    return tuple(chain), new


def _counts_days(periods: np.ndarray, parts: np.ndarray) -> bool:
    """Whether days are counted within months, or 24 hours within days, of an unknown year."""
    values, starts = np.unique(periods, return_index=True)
    if np.any(values % 1) or np.any(np.diff(values) != 1) or values[0] < 0 or values[-1] > 366:
        return False
    ends = np.maximum.reduceat(parts, starts)[:-1]  # the last one may be incomplete
    if values[-1] <= 12 and values[0] >= 1 and parts.min() == 1:
        lengths = MONTH_LENGTHS[values[:-1].astype(int)]
        leap = (values[:-1] == 2) & (ends == 29)
        if np.all((ends == lengths) | leap):
            return True
    complete = np.all(np.diff(starts)[1:] == 24) and np.all(ends == parts.max())
    return len(np.unique(parts)) == 24 and bool(complete)
