"""Advice about a table that can be used but looks wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from bnnbench.data.checks import is_constant
from bnnbench.data.errors import override
from bnnbench.data.own_table.columns.exact_relations import determining_columns
from bnnbench.data.own_table.columns.issues import Policy
from bnnbench.data.own_table.columns.row_labels import group_column, numbers_rows
from bnnbench.near_names import list_first, list_names
from bnnbench.notes import join_words
from bnnbench.types import Split

MAX_TARGET_CORRELATION = 0.999
"""A column with a higher rank correlation is suspected of leaking the target."""

MIN_CODE_ROWS = 0.01
"""Fraction of the rows above which a value far outside the others may mean a missing value."""

MAX_CODES = 3
"""Up to so many different values at one end of a column are taken for codes."""

MIN_QUARTILE_RANGES, MIN_SPACINGS = 0.25, 2.0
"""Distance of a negative code from values that are not negative: in their interquartile range, and
in the median distance of neighbours. -1 is one step below a scale from 0 to 5, but far from
ages."""

CODE = re.compile(r"-[1789]|-?(77+|88+|9+[6-9])(\.9+)?|-?9\.9+|-[1-9]00+|-32768")
"""Numbers that are often codes of missing values, besides those above `MIN_HUGE`."""

MIN_HUGE = 1e10

MIN_RECOMMENDED_ROWS = 100

MAX_TARGET_RATIO = 1000.0
"""Ratio of the 99 % to the 1 % quantile of positive targets above which a logarithm is advised."""

MIN_SHARED_ROWS = 0.01
"""Fraction of test rows in the training part below which there is no warning."""

MAX_CLASSES = 11
"""Number of consecutive integers up to which a target may hold classes."""

MIN_ROWS_OF_CLASS = 3
"""Rows of each class on average; without repetitions, a few integers are a short table."""


def about_columns(
    columns: Mapping[str, np.ndarray],
    sources: Mapping[str, str],
    dates: Collection[str],
    target: str,
    targets: np.ndarray,
    rows: int,
    policy: Policy,
) -> list[str]:
    """Return warnings about inputs that should not be used as they are.

    Args:
        columns: `[N]` values of each input, NaN where there is no value.
        sources: the file's column of each input.
        dates: the columns of dates.
        target: the name of the target.
        targets: `[N]`.
        rows: the number of rows of the file.
        policy: the decisions made so far.
    """
    order = {*dates, *policy.time}
    numbers = {name: values for name, values in columns.items() if name not in order}
    return [
        *([] if policy.split_by else _split_warnings(columns, targets, policy.time)),
        *_exclusions(numbers, sources, target, targets, rows, policy),
        *missing_codes(numbers | {target: targets}, policy),
    ]


def _split_warnings(
    columns: Mapping[str, np.ndarray], targets: np.ndarray, time: Sequence[str]
) -> list[str]:
    """Return warnings about inputs of a table with random splits that should define the splits."""
    warnings = []
    if time:
        by_time = override("time", time[0] if len(time) == 1 else time)
        warnings.append(
            f"the rows are in the order of {list_names(time)}, but splits are random: to test on "
            f"later rows than those for training, add {by_time}; this test is harder, so that the "
            "RMSE may rise, but it shows how well later rows are predicted"
        )
    others = {name: values for name, values in columns.items() if name not in time}
    if found := group_column(others, targets):
        (name, count), instead = found, " instead of dataset.time" if time else ""
        warnings.append(
            f"{name} repeats ({count} values in {len(targets)} rows): if the rows of one value "
            f"belong together, add {override('group', name)}{instead}; the RMSE then measures "
            f"predictions for a new {name}, and may be higher"
        )
    return warnings


def _exclusions(
    inputs: Mapping[str, np.ndarray],
    sources: Mapping[str, str],
    target: str,
    targets: np.ndarray,
    rows: int,
    policy: Policy,
) -> list[str]:
    """Return one sentence that advises to exclude columns, if there are any."""
    numbering = [name for name, values in inputs.items() if numbers_rows(name, values, rows)]
    measured = {name: values for name, values in inputs.items() if name not in numbering}
    reasons = [f"{name} numbers the rows, and new rows are outside its range" for name in numbering]
    leaks = _leaks(measured, sources, targets)
    for columns, agreement in leaks.items():
        how = "together determine" if len(columns) > 1 else "alone determines"
        reasons.append(f"{join_words(columns)} {how} {target} {agreement}")
    leaking = list(dict.fromkeys(name for columns in leaks for name in columns))
    names = [*numbering, *leaking]
    nothing_left = {sources[name] for name in inputs} <= {*names}
    if not names or (nothing_left and not leaks):
        return []
    advice = "use other inputs" if nothing_left else f"add {policy.without(*names)}"
    if leaks:
        advice += (
            f", but keep {join_words(leaking)} if known before {target}; otherwise the RMSE is now "
            f"too low, and rises without {'them' if len(leaking) > 1 else 'it'}"
        )
    return [f"{'; '.join(reasons)}: {advice}"]


def _leaks(
    inputs: Mapping[str, np.ndarray], sources: Mapping[str, str], targets: np.ndarray
) -> dict[tuple[str, ...], str]:
    """Return the columns that determine the target: one with the same order, or several exactly."""
    import pandas as pd

    leaks = {}
    for name, values in inputs.items():
        ranks = pd.DataFrame({"input": values, "target": targets}).dropna().rank()
        agreement = ranks["input"].corr(ranks["target"], min_periods=3)  # NaN of constants
        if abs(agreement) > MAX_TARGET_CORRELATION:
            leaks[(sources[name],)] = f"(rank correlation {agreement:.4f})"
    rest = [name for name in inputs if (sources[name],) not in leaks]
    matrix = np.column_stack([np.empty((len(targets), 0)), *(inputs[name] for name in rest)])
    found = determining_columns(matrix, targets, [sources[name] for name in rest])
    return leaks | ({found: "exactly"} if found else {})


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
            found.setdefault(as_text(code), []).append(f"{name} ({count} rows)")
    if not found:
        return []
    places = "; ".join(f"{code} in {list_first(names)}" for code, names in found.items())
    advice = policy.advice(policy.missing_codes([*found]))
    return [
        f"some values are far outside the others of their column: {places}; if they mean that "
        f"the value is missing, add {advice}"
    ]


def _codes(values: np.ndarray) -> list[float]:
    """Return the values at the ends of a column that may mean a missing value.

    They are usual codes, are repeated, and are far from the others.
    """
    distinct = np.unique(values)
    ends = {*map(float, [*distinct[:MAX_CODES], *distinct[-MAX_CODES:]])}
    usual = [end for end in sorted(ends) if CODE.fullmatch(as_text(end)) or abs(end) >= MIN_HUGE]
    others = values[~np.isin(values, usual)]
    codes = [code for code in usual if _is_far(code, others)]
    rows = np.count_nonzero(np.isin(values, codes))
    return codes if rows > max(len(codes), MIN_CODE_ROWS * len(values)) else []


def _is_far(code: float, others: np.ndarray) -> bool:
    """Whether a value is farther from the others than these are from each other.

    A negative value may be nearer if no other is negative.
    """
    distinct = np.unique(others)
    if len(distinct) < 2:
        return False
    gap = np.abs(distinct - code).min()
    low, high = np.quantile(others, (0.25, 0.75))
    needed = max(MIN_QUARTILE_RANGES * (high - low), MIN_SPACINGS * np.median(np.diff(distinct)))
    return bool(gap > np.ptp(distinct) or (code < 0 <= distinct[0] and gap > needed))


def as_text(number: float) -> str:
    """Return a number as it is written in a setting."""
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number)


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
    if not names:
        return []
    are = f"{names[0]} is" if len(names) == 1 else f"{list_names(names)} are"
    return [f"{are} constant and can be excluded"]


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
