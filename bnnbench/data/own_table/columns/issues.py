"""Find columns that cannot be converted to numbers as they are, and report all of them at once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.errors import invalid, override
from bnnbench.data.own_table.cells.dates import date_formats
from bnnbench.data.own_table.cells.numbers import mixed_units
from bnnbench.data.own_table.columns.encoding import (
    CATEGORIES,
    DATES,
    UNDECIDED,
    Encoding,
    as_strings,
    infer_encoding,
    is_typed_text,
    odd_cells,
)
from bnnbench.data.own_table.columns.row_labels import MIN_GROUPS, MIN_SHARING
from bnnbench.data.own_table.read.footer import MAX_FOOTER_ROWS
from bnnbench.near_names import MAX_LISTED, list_names
from bnnbench.notes import quantity, shorten

if TYPE_CHECKING:
    import pandas as pd

Settings = Mapping[str, str | tuple[str, ...]]
"""Settings of the data set by name, without `dataset.`."""

REFUSE = "refuse"

ONEHOT, NUMBERS = "onehot", "numbers"
"""Values of `dataset.categorical` and `dataset.dates`."""

DROP, IMPUTE = "drop", "impute"
"""Values of `dataset.missing`."""

MAX_CATEGORIES = 100

MAX_CLASSES = 20
"""Up to so many different strings of a target are taken for classes, if they repeat."""

MIN_CODES = 10
"""Strings of a pattern, such as `S-0012`, from which they are codes that may name groups."""

MAX_CODES = 3
"""Up to so many different strings in a column of numbers are taken for codes of missing values."""

TIME_OF_DAY = re.compile(r"\d{1,2}[:.]\d{2}([:.]\d{2}([.,]\d+)?)?( ?[ap]m)?", re.I)

ONE_UNIT = "convert all cells to one unit"

TYPED_TEXT = "its type is text, so convert it with pandas if it means numbers or dates"


@dataclass(frozen=True)
class Policy:
    """How to treat cells that are not numbers; the fields have the names of the settings.

    Attributes:
        missing: `refuse`, `drop` the row, or `impute` the mean.
        categorical: `refuse`, or `onehot`: a column of zeros and ones for each value.
        dates: `refuse`, or `numbers`: days since 1 January 1970.
        drop: the columns that have been excluded so far.
        missing_values: the strings and numbers that have been declared missing so far.
        split_by: whether a column defines the splits; otherwise one is suggested.
        time: the columns that order the rows, which are known before the target.
    """

    missing: str = REFUSE
    categorical: str = REFUSE
    dates: str = REFUSE
    drop: tuple[str, ...] = ()
    missing_values: tuple[str, ...] = ()
    split_by: bool = True
    time: tuple[str, ...] = ()

    def advice(self, settings: Settings) -> str:
        """Return overrides that can be typed as they are; lists continue the present ones."""
        return " ".join(
            override(key, value if isinstance(value, str) else (*getattr(self, key), *value))
            for key, value in settings.items()
        )

    def without(self, *names: str) -> str:
        """Return the override that also excludes these columns."""
        return self.advice({"drop": names})

    def missing_codes(self, values: Sequence[str]) -> Settings:
        """Return the settings that read these values as missing."""
        impute = {"missing": IMPUTE} if self.missing == REFUSE else {}
        return {"missing_values": tuple(values), **impute}


@dataclass(frozen=True)
class ColumnIssue:
    """A problem of a column that the user must resolve.

    Attributes:
        column: its name.
        problem: the problem, a verb phrase.
        remedies: the possible remedies, a clause each.
        settings: those that resolve it; a tuple continues a list.
        hint: additional advice.
        split_hint: advice on splits by the column.
        other_settings: replace `settings` if another column defines the splits.
    """

    column: str
    problem: str
    remedies: tuple[str, ...]
    settings: Settings
    hint: str = ""
    split_hint: str = ""
    other_settings: Settings = field(default_factory=dict)


def check_columns(
    path: Path, frame: pd.DataFrame, encodings: Sequence[Encoding], policy: Policy
) -> None:
    """Raise one `UserError` about all columns that need a decision, with the settings that make it.

    The message gives the first cell of each column that cannot be used, by its data row (counted
    from 1 below the header).

    Args:
        path: the file, for messages.
        frame: its rows in use.
        encodings: the encodings of its columns.
        policy: the decisions made so far.
    """
    found = [issue for e in encodings for issue in _issues(frame[e.column], e, policy)]
    issues, rest = _with_one_split_column(found[:MAX_LISTED]), len(found[MAX_LISTED:])
    if not issues:
        return
    hints = [text for i in issues for text in (i.hint, i.split_hint) if text]
    hint = "".join(f"; {text}" for text in dict.fromkeys(hints))
    if len(issues) == 1:
        (issue,) = issues
        raise invalid(
            "path",
            "column_issue",
            f"column {shorten(issue.column)!r} of {path} {issue.problem}; "
            f"{', or '.join(issue.remedies)}{hint}.",
        )
    problems = ", ".join(f"{shorten(issue.column)!r} {issue.problem}" for issue in issues)
    others = f", and {quantity(rest, 'other column')}" if rest else ""
    raise invalid(
        "path",
        "column_issues",
        f"some columns of {path} cannot be used as they are: {problems}{others}; to "
        f"resolve {'the first' if rest else 'all of these'}, add "
        f"{policy.advice(_merged(issues))}{hint}.",
    )


def _merged(issues: Sequence[ColumnIssue]) -> Settings:
    """Return the settings that resolve all issues; an excluded column needs no other setting."""
    excluded = {issue.column for issue in issues if "drop" in issue.settings}
    merged: dict[str, str | tuple[str, ...]] = {}
    for issue in issues:
        for key, value in issue.settings.items():
            if key == "drop" or issue.column not in excluded:
                old = merged.get(key, ())
                is_list = isinstance(value, tuple)
                merged[key] = tuple(dict.fromkeys((*old, *value))) if is_list else value
    return dict(sorted(merged.items(), key=lambda entry: entry[0] == "drop"))


def _with_one_split_column(issues: Sequence[ColumnIssue]) -> list[ColumnIssue]:
    """Return the issues with the advice to split by one column: groups before times.

    Only one column can define the splits, and rows of one group in both parts leak the target.
    """
    by_column = [i for key in ("group", "time") for i in issues if key in i.settings]
    hinted = [*by_column, *(issue for issue in issues if issue.split_hint)]
    return [
        issue
        if not issue.split_hint or issue is hinted[0]
        else replace(issue, settings=issue.other_settings or issue.settings, split_hint="")
        for issue in issues
    ]


def _issues(cells: pd.Series, encoding: Encoding, policy: Policy) -> list[ColumnIssue]:
    name = encoding.column
    if cells.isna().all():
        return [_unusable(name, "is empty", policy)]
    if encoding.kind == CATEGORIES:
        return _text_issues(cells, encoding, policy)
    issues, numbers = [], encoding.apply(cells)[0]
    if encoding.kind == DATES and policy.dates == REFUSE:
        issues.append(_date_issue(name, numbers, policy))
    return [*issues, *_numeric_issues(name, numbers, policy)]


def _exclude(name: str, policy: Policy) -> str:
    return f"exclude it with {policy.without(name)}"


def _unusable(
    name: str, problem: str, policy: Policy, *remedies: str, hint: str = ""
) -> ColumnIssue:
    """Return the issue of a column that has to be corrected or excluded."""
    return ColumnIssue(name, problem, (*remedies, _exclude(name, policy)), {"drop": (name,)}, hint)


def _date_issue(name: str, days: np.ndarray, policy: Policy) -> ColumnIssue:
    """Return the issue of a date column; if the rows are in its order, suggest splits by time."""
    numbers, steps = {"dates": NUMBERS}, np.diff(days)
    remedies = (f"convert it to days with {policy.advice(numbers)}", _exclude(name, policy))
    ordered = np.all(steps >= 0) or np.all(steps <= 0)  # False if a date is missing
    if policy.split_by or not ordered:
        return ColumnIssue(name, "holds dates", remedies, numbers)
    by_time = override("time", name)
    return ColumnIssue(
        name,
        "holds dates in chronological order",
        (f"test on later rows than those for training with {by_time}", *remedies),
        {"time": name},
        split_hint=f"{by_time} tests on later rows, as when a model predicts the future, and may "
        "raise the RMSE",
        other_settings=numbers,
    )


def _text_issues(cells: pd.Series, encoding: Encoding, policy: Policy) -> list[ColumnIssue]:
    name, strings = encoding.column, as_strings(cells)
    if problem := _mixture(cells):
        return [_unusable(name, problem, policy, ONE_UNIT)]
    odd, kind = odd_cells(cells)
    count = len(encoding.values)
    first = strings[odd].iloc[0]
    hint = "write a time of day as a number of hours" if TIME_OF_DAY.fullmatch(first) else ""
    undecided = len(date_formats(strings)) > 1
    if is_typed_text(cells) and (undecided or infer_encoding(strings).kind != CATEGORIES):
        hint = TYPED_TEXT
    problem = f"holds {_first_text(strings, odd)}"
    if undecided and not hint:
        dates = f"holds dates such as {shorten(first)!r}, but {UNDECIDED}"
        return [_unusable(name, dates, policy, "write them as 2024-12-31")]
    if kind:
        return [_code_issue(name, problem, strings[odd], kind, policy, hint)]
    patterns = strings[odd].str.replace(r"\d+", "0", regex=True).nunique()
    few_or_codes = count <= odd.sum() / 2 or patterns <= count / MIN_CODES
    repeats = strings[odd].duplicated(keep=False).mean() >= MIN_SHARING and few_or_codes
    may_group = count >= MIN_GROUPS and repeats and not hint and not policy.split_by
    group = override("group", name)
    in_one_part = (
        f"with {group}, rows with the same {name} stay in one part of every split; the RMSE then "
        f"measures predictions for a new {name}, and may be higher"
    )
    split_hint = in_one_part if may_group else ""
    if count > MAX_CATEGORIES or (may_group and count > odd.sum() / 2):
        problem += f" ({count} values, and at most {MAX_CATEGORIES} can be one-hot encoded)"
        exclude: Settings = {"drop": (name,)}
        settings: Settings = {"group": name} if may_group else exclude
        keep = (f"keep the rows of each value together with {group}",) if may_group else ()
        remedies = (*keep, _exclude(name, policy))
        return [ColumnIssue(name, problem, remedies, settings, hint, split_hint, exclude)]
    if policy.categorical == ONEHOT:
        return []
    if count > max(MIN_GROUPS, odd.sum() / 2):
        return [_unusable(name, problem, policy, "make every cell a number", hint=hint)]
    onehot, values = {"categorical": ONEHOT}, "only value" if count == 1 else f"{count} values"
    remedies = (f"encode its {values} with {policy.advice(onehot)}", _exclude(name, policy))
    return [ColumnIssue(name, problem, remedies, onehot, hint, split_hint)]


def _mixture(cells: pd.Series) -> str:
    """Describe the units of a column with several; empty for other columns."""
    mixed = None if is_typed_text(cells) else mixed_units(strings := as_strings(cells))
    return f"holds numbers in {mixed[0]!r}, but {_first_text(strings, mixed[1])}" if mixed else ""


def _first_text(strings: pd.Series, odd: pd.Series) -> str:
    """Describe the first of the given cells, and its data row."""
    first = int(np.flatnonzero(odd)[0])
    return f"the text {shorten(strings.iloc[first])!r} in data row {first + 1}"


def _code_issue(
    name: str, problem: str, texts: pd.Series, kind: str, policy: Policy, hint: str
) -> ColumnIssue:
    """Return the issue of a column of numbers or dates with a few strings."""
    correct, (codes, remedy) = f"make every cell a {kind}", _missing_codes(texts, policy)
    if not codes:
        return _unusable(name, problem, policy, correct, hint=hint)
    return ColumnIssue(name, problem, (correct, remedy, _exclude(name, policy)), codes, hint)


def _missing_codes(texts: pd.Series, policy: Policy) -> tuple[Settings, str]:
    """Return the settings that read strings such as `?` and `-` as missing, and a clause on them.

    Both are empty if there are too many different strings, if some cannot be typed, or if strings
    with digits repeat, such as `5*` and `10+ years`, which are values.
    """
    words = tuple(dict.fromkeys(texts))
    values = texts[texts.duplicated()].str.contains(r"\d").any()
    can_be_typed = all(word.isprintable() and shorten(word) == word for word in words)
    if values or len(words) > MAX_CODES or not can_be_typed:
        return {}, ""
    codes = policy.missing_codes(words)
    return codes, f"read {' and '.join(map(repr, words))} as missing with {policy.advice(codes)}"


def _numeric_issues(name: str, numbers: np.ndarray, policy: Policy) -> list[ColumnIssue]:
    def where(cells: np.ndarray) -> str:
        return f"{cells.sum()} of {len(cells)} rows (first in data row {cells.argmax() + 1})"

    gaps, infinite = np.isnan(numbers), np.isinf(numbers)
    if infinite.any():
        return [_unusable(name, f"is infinite in {where(infinite)}", policy, "correct it")]
    if gaps.any() and policy.missing != IMPUTE:
        remedies = (
            "drop these rows with dataset.missing=drop",
            "fill in the mean with dataset.missing=impute",
        )
        return [ColumnIssue(name, f"is empty in {where(gaps)}", remedies, {"missing": IMPUTE})]
    return []


def check_numeric_target(path: Path, cells: pd.Series, encoding: Encoding, policy: Policy) -> None:
    """Raise `UserError` with the first cell of a target that is not a number."""
    if encoding.kind != CATEGORIES or cells.isna().all():
        return
    target, strings = encoding.column, as_strings(cells)
    if problem := _mixture(cells):
        raise invalid(
            "target", "not_numeric", f"column {target!r} of {path} {problem}; {ONE_UNIT}."
        )
    odd, kind = odd_cells(cells)
    remedy = _missing_codes(strings[odd], policy)[1] if kind == "number" else ""
    remedy = f"; correct it, or {remedy}" if remedy else ""
    if not kind and len(encoding.values) <= min(MAX_CLASSES, odd.sum() / 2):
        classes = list_names(encoding.values)
        remedy = f"; bnnbench does regression, but this target has classes ({classes})"
    raise invalid(
        "target",
        "not_numeric",
        f"column {target!r} of {path} holds {_first_text(strings, odd)}, but the target must "
        f"be a number in every row{remedy}.",
    )


def check_last_rows(path: Path, frame: pd.DataFrame) -> None:
    """Raise `UserError` if words are among numbers or dates in the last rows only.

    They may be a footer or mean missing values. Shorter strings, such as `?`, always mean missing.
    """
    for name, column in frame.items():
        last = column.iloc[-1] if len(column) else None
        is_long = isinstance(last, str) and re.match(r"\D*[^\W\d_]{3}", last)
        odd, kind = odd_cells(column) if is_long else ([], "")
        count = int(np.sum(odd))
        if kind and count <= MAX_FOOTER_ROWS and all(odd[-count:]):
            words = ", ".join(repr(shorten(str(word))) for word in column.tail(count))
            rows = "the last row" if count == 1 else f"the last {count} rows"
            raise invalid(
                "path",
                "last_rows",
                f"column {shorten(str(name))!r} of {path} holds a {kind} in every row but {rows} "
                f"({words}); delete {rows} if that is no data, or leave the cell empty if its "
                "value is missing.",
            )
