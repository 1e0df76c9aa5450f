"""Warnings about a table that can be used but looks wrong."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bnnbench.data.checks import is_constant
from bnnbench.data.own_table.columns.advice import as_text
from bnnbench.near_names import list_first, list_names
from bnnbench.notes import join_words
from bnnbench.types import Split

MIN_RECOMMENDED_ROWS = 100

MAX_TARGET_RATIO = 1000.0
"""Ratio of the 99 % to the 1 % quantile of positive targets above which a logarithm is advised."""

MIN_SHARED_ROWS = 0.01
"""Fraction of test rows in the training part below which there is no warning."""

MAX_CLASSES = 11
"""Number of consecutive integers up to which a target may hold classes."""

MIN_ROWS_OF_CLASS = 3
"""Rows of each class on average; without repetitions, a few integers are a short table."""


def table_warnings(
    features: Sequence[str],
    inputs: np.ndarray,
    target: str,
    targets: np.ndarray,
    splits: Sequence[Split],
    log_target: bool = False,
) -> list[str]:
    """Return warnings about a table, a sentence each, the most important first.

    Args:
        features: `D` names.
        inputs: `[N, D]`, NaN where there is no value.
        target: the name of the target.
        targets: `[N]`.
        splits: the train/test splits.
        log_target: whether the logarithm of the target is fitted.
    """
    return [
        *_classes(target, targets),
        *_shared_rows(inputs, targets, splits),
        *_constant_columns(features, inputs),
        *_repeated_columns(features, inputs),
        *([] if log_target else _wide_range(target, targets)),
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
        f"{join_words(map(as_text, values.tolist()))}: if these are classes, use a "
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
    pairs = []
    for name, column in zip(features, inputs.T, strict=True):
        first = seen.setdefault(np.ascontiguousarray(column).tobytes(), name)
        if first != name and not is_constant(column):
            pairs.append(f"{name} duplicates {first}")
    return [f"{list_first(pairs)}: consider excluding one of them"] if pairs else []


def _wide_range(target: str, targets: np.ndarray) -> list[str]:
    if targets.min() <= 0:
        return []
    low, high = np.quantile(targets, (0.01, 0.99))
    if high <= MAX_TARGET_RATIO * low:
        return []
    return [
        f"{target} spans {np.log10(high / low):.1f} orders of magnitude: consider "
        "dataset.log_target=true, which fits its logarithm"
    ]


def _few_rows(targets: np.ndarray) -> list[str]:
    if len(targets) >= MIN_RECOMMENDED_ROWS:
        return []
    return [f"only {len(targets)} rows: expect wide error bars and differences due to chance"]


def _listed(names: Sequence[str]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{list_names(names)} are"
