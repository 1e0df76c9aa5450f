"""Find columns that cannot be converted to numbers as they are, and report all of them at once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.columns import (
    CATEGORIES,
    DATES,
    Encoding,
    as_strings,
    excerpt,
    is_text,
)

if TYPE_CHECKING:
    import pandas as pd

REFUSE = "refuse"

ONEHOT, NUMBERS = "onehot", "numbers"
"""Values of `dataset.categorical` and `dataset.dates`."""

DROP, IMPUTE = "drop", "impute"
"""Values of `dataset.missing`."""

MAX_CATEGORIES = 100

MIN_GROUPS = 20
"""Distinct texts, each in two rows on average, from which a column may name groups of rows."""

DATE_FORMATS = "dates are read as 2024-12-31 or 31.12.2024"

AMBIGUOUS_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*")
"""Dates in other formats, which are not accepted: `01/02/2024` may be in January or February."""


@dataclass(frozen=True)
class Policy:
    """How to treat cells that are not numbers; the fields have the names of the settings.

    Attributes:
        missing: `refuse`, `drop` the row, or `impute` the mean.
        categorical: `refuse`, or `onehot`: a column of zeros and ones for each value.
        dates: `refuse`, or `numbers`: days since 1 January 1970.
        split_by: whether a column defines the splits; otherwise one is suggested.
    """

    missing: str = REFUSE
    categorical: str = REFUSE
    dates: str = REFUSE
    split_by: bool = True


@dataclass(frozen=True)
class ColumnIssue:
    """A problem of a column that the user must resolve.

    Attributes:
        column: its name.
        problem: the problem, a verb phrase.
        remedies: the possible remedies, a clause each.
        setting: the override that resolves it for all such columns; empty if the column has to be
            corrected or excluded.
        hint: additional advice.
        other_setting: used instead if another column defines the splits.
    """

    column: str
    problem: str
    remedies: tuple[str, ...]
    setting: str = ""
    hint: str = ""
    other_setting: str = ""


def check_columns(
    path: Path,
    frame: pd.DataFrame,
    encodings: Sequence[Encoding],
    policy: Policy,
    dropped: Sequence[str] = (),
) -> None:
    """Raise one `UserError` about all columns that need a decision, with the settings that make it.

    The message gives the first cell of each column that cannot be used, by its data row (counted
    from 1 below the header).

    Args:
        path: the file, for messages.
        frame: its rows in use.
        encodings: the encodings of its columns.
        policy: the decisions made so far.
        dropped: the columns excluded so far.
    """
    found = [issue for e in encodings for issue in _issues(frame[e.column], e, policy)]
    issues = _with_one_split_column(found)
    if not issues:
        return
    hint = "".join(f"; {text}" for text in dict.fromkeys(i.hint for i in issues if i.hint))
    if len(issues) == 1:
        (issue,) = issues
        raise invalid(
            "path",
            "column_issue",
            f"column {issue.column!r} of {path} {issue.problem}; "
            f"{', or '.join(issue.remedies)}{hint}.",
        )
    problems = ", ".join(f"{issue.column!r} {issue.problem}" for issue in issues)
    overrides = " ".join(map(shlex.quote, _overrides(issues, dropped)))
    other = "" if _to_drop(issues) else " (or exclude columns with dataset.drop=[NAME])"
    raise invalid(
        "path",
        "column_issues",
        f"some columns of {path} cannot be used as they are: {problems}; to resolve "
        f"all of these, add {overrides}{other}{hint}.",
    )


def _overrides(issues: Sequence[ColumnIssue], dropped: Sequence[str]) -> list[str]:
    """The command-line overrides that resolve all issues."""
    remaining = {issue.column for issue in issues} - {*_to_drop(issues)}
    settings = {issue.setting: None for issue in issues if issue.column in remaining}
    out = [*dropped, *_to_drop(issues)]
    return [*settings, *([f"dataset.drop=[{','.join(out)}]"] if _to_drop(issues) else [])]


def _to_drop(issues: Sequence[ColumnIssue]) -> list[str]:
    return list(dict.fromkeys(issue.column for issue in issues if not issue.setting))


def _with_one_split_column(issues: Sequence[ColumnIssue]) -> list[ColumnIssue]:
    """Return the issues with the setting of only the first that suggests to split by its column.

    Groups come before times, since rows of one group in both parts leak the target.
    """
    suggested = [i.setting for k in ("group", "time") for i in issues if _splits_by(i, k)]
    return [
        replace(issue, setting=issue.other_setting) if issue.setting in suggested[1:] else issue
        for issue in issues
    ]


def _splits_by(issue: ColumnIssue, key: str) -> bool:
    return issue.setting.startswith(f"dataset.{key}=")


def _issues(cells: pd.Series, encoding: Encoding, policy: Policy) -> list[ColumnIssue]:
    name = encoding.column
    drop = f"exclude it with dataset.drop=[{name}]"
    if cells.isna().all():
        return [ColumnIssue(name, "is empty", (drop,))]
    if encoding.kind == CATEGORIES:
        return _text_issues(cells, encoding, policy, drop)
    issues = []
    if encoding.kind == DATES and policy.dates == REFUSE:
        issues.append(_date_issue(name, encoding.apply(cells)[0], policy, drop))
    return [*issues, *_numeric_issues(name, encoding.apply(cells)[0], policy, drop)]


def _date_issue(name: str, days: np.ndarray, policy: Policy, drop: str) -> ColumnIssue:
    """Return the issue of a date column; if the rows are in its order, suggest splits by time."""
    number, steps = "dataset.dates=numbers", np.diff(days)
    remedies = (f"convert it to days with {number}", drop)
    ordered = np.all(steps >= 0) or np.all(steps <= 0)  # False if a date is missing
    if policy.split_by or not ordered:
        return ColumnIssue(name, "holds dates", remedies, number)
    by_time = f"dataset.time={name}"
    return ColumnIssue(
        name,
        "holds dates, and the rows are in their order",
        (f"test on later rows than those for training with {by_time}", *remedies),
        by_time,
        f"dataset.time={name} tests on later rows, as when a model predicts the future",
        number,
    )


def _text_issues(
    cells: pd.Series, encoding: Encoding, policy: Policy, drop: str
) -> list[ColumnIssue]:
    strings, text = as_strings(cells), is_text(cells)
    first, count = int(np.flatnonzero(text)[0]), len(encoding.values)
    hint = DATE_FORMATS if AMBIGUOUS_DATE.fullmatch(strings.iloc[first]) else ""
    problem = f"holds the text {excerpt(strings.iloc[first])!r} in data row {first + 1}"
    if text.sum() < strings.notna().sum() / 2:
        remedies = ("make every cell a number", drop)
        return [ColumnIssue(encoding.column, problem, remedies, hint=hint)]
    repeats = MIN_GROUPS <= count <= text.sum() / 2 and not hint
    may_group = repeats and not policy.split_by
    group = f"dataset.group={encoding.column}" if may_group else ""
    if may_group:
        hint = (
            f"with {group}, the rows with the same {encoding.column} stay in one "
            "part of every split"
        )
    if count > MAX_CATEGORIES:
        problem += f" ({count} values, more than the {MAX_CATEGORIES} that can be one-hot encoded)"
        keep = (f"keep the rows of each value together with {group}",) if may_group else ()
        return [ColumnIssue(encoding.column, problem, (*keep, drop), group, hint)]
    if policy.categorical == ONEHOT:
        return []
    remedies = (f"encode its {count} values with dataset.categorical=onehot", drop)
    return [ColumnIssue(encoding.column, problem, remedies, "dataset.categorical=onehot", hint)]


def _numeric_issues(name: str, numbers: np.ndarray, policy: Policy, drop: str) -> list[ColumnIssue]:
    def where(cells: np.ndarray) -> str:
        return f"{cells.sum()} of {len(cells)} rows (first in data row {cells.argmax() + 1})"

    gaps, infinite = np.isnan(numbers), np.isinf(numbers)
    if infinite.any():
        return [ColumnIssue(name, f"is infinite in {where(infinite)}", ("correct it", drop))]
    if gaps.any() and policy.missing != IMPUTE:
        remedies = (
            "drop these rows with dataset.missing=drop",
            "fill in the mean with dataset.missing=impute",
        )
        return [ColumnIssue(name, f"is empty in {where(gaps)}", remedies, "dataset.missing=impute")]
    return []


def check_numeric_target(path: Path, target: str, cells: pd.Series, encoding: Encoding) -> None:
    """Raise `UserError` with the first cell of a target that is not a number."""
    if encoding.kind == CATEGORIES and not cells.isna().all():
        first = int(np.flatnonzero(is_text(cells))[0])
        raise invalid(
            "target",
            "not_numeric",
            f"column {target!r} of {path} holds the text "
            f"{excerpt(as_strings(cells).iloc[first])!r} in data row {first + 1}; the target must "
            "be a number in every row.",
        )
