"""Warnings about a table that can be used but looks wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from bnnbench.data.checks import is_constant
from bnnbench.data.errors import override
from bnnbench.data.own_table.column_issues import Policy
from bnnbench.data.own_table.identifiers import group_columns
from bnnbench.near_names import list_names
from bnnbench.notes import join_words
from bnnbench.types import Split

MIN_RECOMMENDED_ROWS = 100

MAX_TARGET_RATIO = 1000.0
"""Ratio of the 99 % to the 1 % quantile of positive targets above which a logarithm is advised."""

MIN_SHARED_ROWS = 0.01
"""Fraction of the test rows that also occur in the training part below which nothing is said."""

MIN_CODE_ROWS = 0.01
"""Fraction of the rows above which a value far outside the others may mean a missing value."""

MAX_CODES = 3
"""Different values at one end of a column up to which they are taken for codes."""

MIN_RANGES, MIN_QUARTILE_RANGES = 3.0, 0.5
"""Distance from the other values beyond which a value is far outside them: in their range, and in
their interquartile range for the usual codes of missing values."""

NINES = re.compile(r"-?(77+|88+|99+)(\.9+)?|-?9\.9+")
"""Numbers that are often codes of missing values."""

MAX_CLASSES = 11
"""Number of consecutive integers up to which a target may hold classes."""

MIN_ROWS_OF_CLASS = 3
"""Rows of each class on average; without repetitions, a few integers are a short table."""


def missing_codes(columns: Mapping[str, np.ndarray], policy: Policy) -> list[str]:
    """Warn about values far outside the others that occur in more than 1 % of the rows.

    Args:
        columns: `[N]` values of inputs and target.
        policy: the decisions made so far.
    """
    found: dict[str, list[str]] = {}
    for name, values in columns.items():
        for code in _codes(values[~np.isnan(values)]):
            count = np.count_nonzero(values == code)
            found.setdefault(_as_text(code), []).append(f"{name} ({count} rows)")
    if not found:
        return []
    places = "; ".join(f"{code} in {_shortened(names)}" for code, names in found.items())
    advice = policy.advice(policy.missing_codes([*found]))
    return [
        f"some values are far outside the others of their column: {places}; if they mean that "
        f"the value is missing, add {advice}"
    ]


def _codes(values: np.ndarray) -> list[float]:
    """Return the values at the ends of a column that may mean a missing value."""
    distinct, codes = np.unique(values), []
    for ordered in (distinct, distinct[::-1]):
        for count in range(min(MAX_CODES, len(ordered) - 2), 0, -1):
            ends, rest = ordered[:count], values[~np.isin(values, ordered[:count])]
            gap = abs(ordered[count] - ordered[count - 1])
            often = len(values) - len(rest) > MIN_CODE_ROWS * len(values)
            if often and all(_is_far(float(end), gap, rest) for end in ends):
                codes += [float(end) for end in ends]
                break
    return sorted(codes)


def _is_far(value: float, gap: float, others: np.ndarray) -> bool:
    """Whether a value is far outside the others, from which it is separated by a gap."""
    spread = np.ptp(others)
    if NINES.fullmatch(_as_text(value)) or value < 0 <= others.min():
        low, high = np.quantile(others, (0.25, 0.75))
        return bool(gap > MIN_QUARTILE_RANGES * (high - low or spread))
    return bool(gap > MIN_RANGES * spread and len(np.unique(others)) > 2)


def _as_text(number: float) -> str:
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number)


def _shortened(texts: Sequence[str]) -> str:
    """List up to three texts, and count the others."""
    more = f" and {len(texts) - 3} more" * (len(texts) > 3)
    return f"{', '.join(texts[:3])}{more}"


def split_warnings(
    columns: Mapping[str, np.ndarray], targets: np.ndarray, dates: Collection[str]
) -> list[str]:
    """Return warnings about inputs of a table with random splits that should define the splits.

    Args:
        columns: `[N]` values of each input.
        targets: `[N]`.
        dates: the inputs that were dates.
    """
    steps = {name: np.diff(columns[name]) for name in columns if name in dates}
    ordered = [name for name, step in steps.items() if np.all(step >= 0) or np.all(step <= 0)]
    warnings = [
        f"the rows are in the order of {name}, but splits are random: to test on later "
        f"rows than those for training, add {override('time', name)}"
        for name in ordered
    ]
    others = {name: values for name, values in columns.items() if name not in dates}
    by_time = " instead of dataset.time" if ordered else ""
    for name, count in group_columns(others, targets).items():
        warnings.append(
            f"{name} repeats ({count} values in {len(targets)} rows): if the rows of one value "
            f"belong together, add {override('group', name)}{by_time}; the RMSE may then rise, "
            f"since it is that of rows with a new {name}"
        )
    return warnings


def table_warnings(
    features: Sequence[str],
    inputs: np.ndarray,
    target: str,
    targets: np.ndarray,
    splits: Sequence[Split],
) -> list[str]:
    """Return warnings about a table, a sentence each, the most important first.

    Args:
        features: `D` names.
        inputs: `[N, D]`, NaN where there is no value.
        target: the name of the target.
        targets: `[N]`.
        splits: the train/test splits.
    """
    return [
        *_classes(target, targets),
        *_shared_rows(inputs, targets, splits),
        *_constant_columns(features, inputs),
        *_repeated_columns(features, inputs),
        *_wide_range(target, targets),
        *_few_rows(targets),
    ]


def _classes(target: str, targets: np.ndarray) -> list[str]:
    """Warn about a target with two values, or with a few integers that may be classes."""
    values = np.unique(targets)
    whole = not np.any(values % 1) and np.ptp(values) < MAX_CLASSES
    few = whole and len(targets) >= MIN_ROWS_OF_CLASS * len(values)
    if not few and len(values) > 2:
        return []
    others = "; if they are counts or ratings, predictions may lie between them"
    return [
        f"bnnbench does regression, and {target} has only the values "
        f"{join_words(map(_as_text, values.tolist()))}: if these are classes, use a "
        f"classifier{others * (len(values) > 2)}"
    ]


def _shared_rows(inputs: np.ndarray, targets: np.ndarray, splits: Sequence[Split]) -> list[str]:
    """Warn about identical rows in the training and test part of a split."""
    whole = np.column_stack([inputs, targets])
    rows = np.ascontiguousarray(whole).view(f"V{whole.shape[1] * whole.itemsize}")[:, 0]
    _, kind, counts = np.unique(rows, return_inverse=True, return_counts=True)
    repeated = int((counts - 1).sum())
    if not repeated:
        return []
    shared = np.mean([np.isin(kind[split.test], kind[split.train]).mean() for split in splits])
    if shared < MIN_SHARED_ROWS:
        return []
    found = "1 row is a duplicate" if repeated == 1 else f"{repeated} rows are duplicates"
    return [
        f"{found}, so {shared:.0%} of the test rows also occur in the training part: remove them "
        "from the file, or set dataset.group to a column that is equal in rows that belong together"
    ]


def _constant_columns(features: Sequence[str], inputs: np.ndarray) -> list[str]:
    names = [name for name, column in zip(features, inputs.T, strict=True) if is_constant(column)]
    return [f"{_listed(names)} constant and can be excluded"] if names else []


def _repeated_columns(features: Sequence[str], inputs: np.ndarray) -> list[str]:
    seen: dict[bytes, str] = {}
    warnings = []
    for name, column in zip(features, inputs.T, strict=True):
        first = seen.setdefault(np.ascontiguousarray(column).tobytes(), name)
        if first != name and not is_constant(column):
            warnings.append(f"{name} duplicates {first}: consider excluding one of them")
    return warnings


def _wide_range(target: str, targets: np.ndarray) -> list[str]:
    if targets.min() <= 0:
        return []
    low, high = np.quantile(targets, (0.01, 0.99))
    if high <= MAX_TARGET_RATIO * low:
        return []
    return [
        f"{target} spans {np.log10(high / low):.1f} orders of magnitude: consider predicting its "
        "logarithm"
    ]


def _few_rows(targets: np.ndarray) -> list[str]:
    if len(targets) >= MIN_RECOMMENDED_ROWS:
        return []
    return [f"only {len(targets)} rows: expect wide error bars and differences due to chance"]


def _listed(names: Sequence[str]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{list_names(names)} are"
