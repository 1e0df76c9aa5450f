"""Warnings about a table that can be used but looks wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

import numpy as np

from bnnbench.data.checks import is_constant
from bnnbench.data.errors import override
from bnnbench.data.own_table.column_issues import MIN_GROUPS, Policy
from bnnbench.near_names import list_names
from bnnbench.types import Split

MIN_RECOMMENDED_ROWS = 100

MAX_TARGET_CORRELATION = 0.999
"""A column with a higher rank correlation is suspected of leaking the target."""

MAX_TARGET_RATIO = 1000.0
"""Ratio of the 99 % to the 1 % quantile of positive targets above which a logarithm is advised."""

MIN_SHARED_ROWS = 0.01
"""Fraction of the test rows that also occur in the training part below which nothing is said."""

MIN_CODE_ROWS = 0.01
"""Fraction of the rows above which a value far outside the others may mean a missing value."""

MAX_CODES = 3
"""Different values at one end of a column up to which they are taken for codes."""

MIN_QUARTILE_RANGES, MIN_SPACINGS = 0.25, 2.0
"""Distance of a negative code from values that are not negative: in their interquartile range, and
in the median distance of neighbours. -1 is one step below a scale from 0 to 5, but far from
ages."""

CODE = re.compile(r"-[1789]|-?(77+|88+|9+[6-9])(\.9+)?|-?9\.9+|-[1-9]00+")
"""Numbers that are often codes of missing values, besides those above `MIN_HUGE`."""

MIN_HUGE = 1e10

KEY = re.compile(r"(.*[\W_])?(id|nr|no|number|key|code|index)|(?-i:.*[a-z](I[dD]|N[or]))", re.I)
"""Names of columns that identify a row or a group of rows."""

GROUP = re.compile(
    r"(patient|subject|person|customer|user|device|machine|batch|station).*", re.IGNORECASE
)
"""Names of columns that say what a row belongs to."""


def column_warnings(
    inputs: Mapping[str, np.ndarray], targets: Mapping[str, np.ndarray], rows: int, policy: Policy
) -> list[str]:
    """Return warnings about numbers that measure nothing: numbers of rows, and codes.

    Args:
        inputs: `[N]` values of each input.
        targets: `[N]` values of the target.
        rows: the number of rows of the file, of which `N` are in use.
        policy: the decisions made so far.
    """
    numbering = [name for name, values in inputs.items() if _numbers_rows(name, values, rows)]
    warnings = [
        f"{name} numbers the rows, and new rows are outside its range: add {policy.without(name)}"
        for name in numbering[: len(inputs) - 1]
    ]
    return [*warnings, *_missing_codes({**inputs, **targets}, policy)]


def _numbers_rows(name: str, values: np.ndarray, rows: int) -> bool:
    """Whether a column counts the rows from 0 or 1, or is a key that differs in each row."""
    if np.isnan(values).any() or np.any(values % 1) or len(np.unique(values)) < len(values):
        return False
    complete = len(values) == rows or bool(np.all(np.diff(values) > 0))
    counts = complete and values.min() >= 0 and values.max() <= rows
    return bool(counts or KEY.fullmatch(name))


def _missing_codes(columns: Mapping[str, np.ndarray], policy: Policy) -> list[str]:
    """Warn about values far outside the others that occur in more than 1 % of the rows."""
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
    """Return the values at the ends of a column that may mean a missing value.

    They are usual codes, are repeated, and are far from the others.
    """
    distinct, codes = np.unique(values), []
    low, high = _usual_end(distinct), _usual_end(distinct[::-1])
    for ends, other in ((low, high), (high, low)):
        for count in range(len(ends), 0, -1):
            found, rest = ends[:count], values[~np.isin(values, [*ends[:count], *other])]
            rows = np.count_nonzero(np.isin(values, found))
            often = rows > max(count, MIN_CODE_ROWS * len(values))
            if often and len(np.unique(rest)) > 1 and _are_far(np.array(found), rest):
                codes += found
                break
    return sorted(codes)


def _usual_end(ordered: np.ndarray) -> list[float]:
    return [*takewhile(_is_usual, map(float, ordered[:MAX_CODES]))]


def _is_usual(value: float) -> bool:
    return bool(CODE.fullmatch(_as_text(value))) or abs(value) >= MIN_HUGE


def _are_far(ends: np.ndarray, others: np.ndarray) -> bool:
    """Whether values are farther from the others than these are from each other.

    Values that are usual codes because they are negative may be nearer if no other is negative.
    """
    distinct = np.unique(others)
    gap = np.abs(distinct[:, None] - ends).min()
    if gap > np.ptp(distinct):
        return True
    low, high = np.quantile(others, (0.25, 0.75))
    needed = max(MIN_QUARTILE_RANGES * (high - low), MIN_SPACINGS * np.median(np.diff(distinct)))
    return bool(ends.max() < 0 <= distinct[0] and gap > needed)


def _as_text(number: float) -> str:
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number)


def _shortened(texts: Sequence[str]) -> str:
    """List up to three texts, and count the others."""
    more = f" and {len(texts) - 3} more" * (len(texts) > 3)
    return f"{', '.join(texts[:3])}{more}"


def split_warnings(columns: Mapping[str, np.ndarray], time: Sequence[str]) -> list[str]:
    """Return warnings about inputs of a table with random splits that should define the splits.

    Args:
        columns: `[N]` values of each input.
        time: the inputs by which the rows are in chronological order.
    """
    warnings = []
    if time:
        by_time = override("time", time[0] if len(time) == 1 else time)
        warnings.append(
            f"the rows are in the order of {list_names(time)}, but splits are random: to test on "
            f"later rows than those for training, add {by_time}; this test is harder, so that the "
            "RMSE may rise, but it shows how well later rows are predicted"
        )
    for name in (name for name in columns if name not in time):
        count = len(np.unique(columns[name]))
        named = KEY.fullmatch(name) or GROUP.fullmatch(name)
        if named and MIN_GROUPS <= count <= len(columns[name]) / 2:
            warnings.append(
                f"{name} repeats ({count} values in {len(columns[name])} rows): if the rows of one "
                f"value belong together, add {override('group', name)}"
                f"{' instead of dataset.time' if time else ''}"
            )
    return warnings


def table_warnings(
    features: Sequence[str],
    inputs: np.ndarray,
    target: str,
    targets: np.ndarray,
    splits: Sequence[Split],
    sources: Mapping[str, str] | None = None,
    policy: Policy | None = None,
) -> list[str]:
    """Return warnings about a table, a sentence each, the most important first.

    Args:
        features: `D` names.
        inputs: `[N, D]`, NaN where there is no value.
        target: the name of the target.
        targets: `[N]`.
        splits: the train/test splits.
        sources: the file's column of each feature whose name differs from it.
        policy: the decisions made so far.
    """
    policy = policy or Policy()
    return [
        *_two_values(target, targets),
        *_target_leaks(features, inputs, target, targets, sources or {}, policy),
        *_shared_rows(inputs, targets, splits),
        *_constant_columns(features, inputs),
        *_repeated_columns(features, inputs),
        *([] if policy.log_target else _wide_range(target, targets)),
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
    policy: Policy,
) -> list[str]:
    ranks = _ranks(targets)
    warnings = []
    for name, column in zip(features, inputs.T, strict=True):
        present = ~np.isnan(column)
        if present.sum() < 3 or is_constant(column) or name in policy.time:
            continue
        target_ranks = ranks[present] if present.all() else _ranks(targets[present])
        if np.ptp(target_ranks) == 0:
            continue
        agreement = float(np.corrcoef(_ranks(column[present]), target_ranks)[0, 1])
        if abs(agreement) > MAX_TARGET_CORRELATION:
            warnings.append(
                f"{name} alone determines {target} (rank correlation {agreement:.4f}): if it is "
                f"not known before {target}, exclude it with "
                f"{policy.without(sources.get(name, name))}"
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
    return [f"{_shortened(pairs)}: consider excluding one of them"] if pairs else []


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
