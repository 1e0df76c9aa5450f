"""Warnings about a table that can be used but looks wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from bnnbench.data.checks import is_constant
from bnnbench.data.own_table.column_issues import MIN_GROUPS
from bnnbench.types import Split

MIN_RECOMMENDED_ROWS = 100

MAX_TARGET_CORRELATION = 0.999
"""A column with a higher rank correlation is suspected of leaking the target."""

MAX_TARGET_RATIO = 1000.0
"""Ratio of the 99 % to the 1 % quantile of positive targets above which a logarithm is advised."""

IDENTIFIER = re.compile(
    r"(.*[\W_])?(id|nr|no|number|key|code)|(patient|subject|person|customer|user|device|machine|"
    r"batch|station).*",
    re.IGNORECASE,
)
"""Names of columns that say what a row belongs to."""


def split_warnings(columns: Mapping[str, np.ndarray], dates: Collection[str]) -> list[str]:
    """Return warnings about inputs of a table with random splits that should define the splits.

    Args:
        columns: `[N]` values of each input.
        dates: the inputs that were dates.
    """
    warnings = []
    for name, values in columns.items():
        if name in dates and (np.all(np.diff(values) >= 0) or np.all(np.diff(values) <= 0)):
            warnings.append(
                f"the rows are in the order of {name}, but splits are random: to test on later "
                f"rows than those for training, add dataset.time={name}"
            )
        count = len(np.unique(values))
        if IDENTIFIER.fullmatch(name) and MIN_GROUPS <= count <= len(values) / 2:
            warnings.append(
                f"{name} repeats ({count} values in {len(values)} rows): if the rows of one value "
                f"belong together, add dataset.group={name}"
            )
    return warnings


def table_warnings(
    features: Sequence[str],
    inputs: np.ndarray,
    target: str,
    targets: np.ndarray,
    splits: Sequence[Split],
    sources: Mapping[str, str] | None = None,
) -> list[str]:
    """Return warnings about a table, a sentence each, the most important first.

    Args:
        features: `D` names.
        inputs: `[N, D]`, NaN where there is no value.
        target: the name of the target.
        targets: `[N]`.
        splits: the train/test splits.
        sources: the file's column of each feature whose name differs from it.
    """
    return [
        *_two_values(target, targets),
        *_target_leaks(features, inputs, target, targets, sources or {}),
        *_shared_rows(inputs, targets, splits),
        *_constant_columns(features, inputs),
        *_repeated_columns(features, inputs),
        *_wide_range(target, targets),
        *_few_rows(targets),
    ]


def _two_values(target: str, targets: np.ndarray) -> list[str]:
    if len(np.unique(targets)) > 2:
        return []
    return [f"{target} has only two values: this is classification, but bnnbench does regression"]


def _target_leaks(
    features: Sequence[str],
    inputs: np.ndarray,
    target: str,
    targets: np.ndarray,
    sources: Mapping[str, str],
) -> list[str]:
    ranks = _ranks(targets)
    warnings = []
    for name, column in zip(features, inputs.T, strict=True):
        present = ~np.isnan(column)
        if present.sum() < 3 or is_constant(column):
            continue
        target_ranks = ranks[present] if present.all() else _ranks(targets[present])
        if np.ptp(target_ranks) == 0:
            continue
        agreement = float(np.corrcoef(_ranks(column[present]), target_ranks)[0, 1])
        if abs(agreement) > MAX_TARGET_CORRELATION:
            warnings.append(
                f"{name} alone determines {target} (rank correlation {agreement:.4f}): if it is "
                f"not known before {target}, exclude it with "
                f"dataset.drop=[{sources.get(name, name)}]"
            )
    return warnings


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks; ties share their mean rank."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[index]


def _shared_rows(inputs: np.ndarray, targets: np.ndarray, splits: Sequence[Split]) -> list[str]:
    """Warn about identical rows in the training and test part of a split."""
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
        f"{repeated} rows are duplicates, so {np.mean(shares):.0%} of the test rows also occur in "
        "the training part: remove them, or keep them together with dataset.group=COLUMN"
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
    return f"{names[0]} is" if len(names) == 1 else f"{', '.join(names)} are"
