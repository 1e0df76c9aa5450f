"""What looks wrong with a table though it can be learned from: one sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bnnbench.data.own_table.checks import constant
from bnnbench.types import Split

FEW_ROWS = 100

TELLING = 0.999
"""Rank correlation with the target above which a column is taken for the target in disguise."""

ORDERS = 1000.0
"""Times that the larger of positive targets exceed the smaller (99 % and 1 % points)."""


def remarks_on(
    features: Sequence[str],
    inputs: np.ndarray,
    target: str,
    targets: np.ndarray,
    splits: Sequence[Split],
    sources: Mapping[str, str] | None = None,
) -> list[str]:
    """Looks a table over.

    Args:
        features: `D` names.
        inputs: `[N, D]`, NaN where there is no value.
        target: its name.
        targets: `[N]`.
        splits: its train and test parts.
        sources: the column of the file that each feature was made of, where it has another name.

    Returns:
        Sentences, the most important first.
    """
    return [
        *_two_values(target, targets),
        *_telling(features, inputs, target, targets, sources or {}),
        *_shared_rows(inputs, targets, splits),
        *_constant_columns(features, inputs),
        *_repeated_columns(features, inputs),
        *_orders(target, targets),
        *_few_rows(targets),
    ]


def _two_values(target: str, targets: np.ndarray) -> list[str]:
    if len(np.unique(targets)) > 2:
        return []
    return [f"{target} has two values only: that is a classification, and all here is regression"]


def _telling(
    features: Sequence[str],
    inputs: np.ndarray,
    target: str,
    targets: np.ndarray,
    sources: Mapping[str, str],
) -> list[str]:
    ranks = _ranks(targets)
    found = []
    for name, column in zip(features, inputs.T, strict=True):
        there = ~np.isnan(column)
        if there.sum() < 3 or constant(column):
            continue
        own = ranks[there] if there.all() else _ranks(targets[there])
        if np.ptp(own) == 0:
            continue
        agreement = float(np.corrcoef(_ranks(column[there]), own)[0, 1])
        if abs(agreement) > TELLING:
            found.append(
                f"{name} alone tells {target} (rank correlation {agreement:.4f}): if it is not "
                f"known before {target} is, leave it out by "
                f"dataset.drop=[{sources.get(name, name)}]"
            )
    return found


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, equal values sharing the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


def _shared_rows(inputs: np.ndarray, targets: np.ndarray, splits: Sequence[Split]) -> list[str]:
    """Rows that a split trains on and is tested on."""
    whole = np.column_stack([inputs, targets])
    rows = np.ascontiguousarray(whole).view(f"V{whole.shape[1] * whole.itemsize}")[:, 0]
    _, kind, counts = np.unique(rows, return_inverse=True, return_counts=True)
    repeated = int((counts - 1).sum())
    if not repeated:
        return []
    shares = [np.isin(kind[split.test], kind[split.train]).mean() for split in splits]
    if not max(shares):
        return []
    return [
        f"{repeated} rows repeat others, so that {np.mean(shares):.0%} of a test part has been "
        "trained on: remove them, or keep them together by dataset.group=COLUMN"
    ]


def _constant_columns(features: Sequence[str], inputs: np.ndarray) -> list[str]:
    names = [name for name, column in zip(features, inputs.T, strict=True) if constant(column)]
    return [f"{_listed(names)} the same in every row and tells nothing"] if names else []


def _repeated_columns(features: Sequence[str], inputs: np.ndarray) -> list[str]:
    seen: dict[bytes, str] = {}
    found = []
    for name, column in zip(features, inputs.T, strict=True):
        first = seen.setdefault(np.ascontiguousarray(column).tobytes(), name)
        if first != name and not constant(column):
            found.append(f"{name} repeats {first}: one of them would do")
    return found


def _orders(target: str, targets: np.ndarray) -> list[str]:
    if targets.min() <= 0:
        return []
    low, high = np.quantile(targets, (0.01, 0.99))
    if high <= ORDERS * low:
        return []
    return [
        f"{target} spans {np.log10(high / low):.1f} orders of magnitude: its logarithm may be what "
        "to predict"
    ]


def _few_rows(targets: np.ndarray) -> list[str]:
    if len(targets) >= FEW_ROWS:
        return []
    return [f"{len(targets)} rows are few: expect wide error bars, and differences by chance"]


def _listed(names: Sequence[str]) -> str:
    return f"{names[0]} is" if len(names) == 1 else f"{', '.join(names)} are"
