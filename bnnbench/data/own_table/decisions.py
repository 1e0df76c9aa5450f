"""What the columns of a file need to be told before they are numbers, all of it in one sentence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.own_table.columns import CATEGORIES, DATES, Encoding, is_text, words_of
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

REFUSE = "refuse"

ONEHOT, NUMBERS = "onehot", "numbers"
"""What becomes of words, and of dates."""

DROP, IMPUTE = "drop", "impute"
"""What becomes of gaps."""

MOST_CATEGORIES = 100

DATE_FORMS = "dates are read as 2024-12-31 or 31.12.2024"

OTHER_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*")
"""Dates that are none here: `01/02/2024` is a day in January or in February."""


@dataclass(frozen=True)
class Policy:
    """What to do with cells that are no numbers; the fields have the names of the settings.

    Attributes:
        missing: `refuse`, `drop` their rows, or `impute` means.
        categorical: `refuse`, or `onehot`: a column of zeros and ones for each value.
        dates: `refuse`, or `numbers`: days since the first of January 1970.
    """

    missing: str = REFUSE
    categorical: str = REFUSE
    dates: str = REFUSE


@dataclass(frozen=True)
class Decision:
    """What is to be decided about a column.

    Attributes:
        column: its name.
        found: what it holds, a verb and more.
        ways: what can be done about it, a clause each.
        setting: the one that settles it with every column like it; empty where the column has to
            be corrected or left out.
        hint: what else there is to say.
    """

    column: str
    found: str
    ways: tuple[str, ...]
    setting: str = ""
    hint: str = ""


def check_decided(
    path: Path,
    frame: pd.DataFrame,
    encodings: Sequence[Encoding],
    policy: Policy,
    dropped: Sequence[str] = (),
) -> None:
    """Refuses a file of which something is left to decide, and says how to decide all of it.

    Args:
        path: of the file, for messages.
        frame: its rows in use.
        encodings: what its columns hold.
        policy: what has been decided.
        dropped: columns that are left out already.

    Raises:
        UserError: naming the columns, and the data row (counted from 1 below the names) of the
            first cell of each that cannot be used.
    """
    found = [one for e in encodings for one in _decisions(frame[e.column], e, policy)]
    if not found:
        return
    hint = next((f"; {one.hint}" for one in found if one.hint), "")
    if len(found) == 1:
        (one,) = found
        raise UserError(
            f"dataset.path: column {one.column!r} of {path} {one.found}; "
            f"{', '.join(one.ways)}{hint}."
        )
    told = ", ".join(f"{one.column!r} {one.found}" for one in found)
    settled = " ".join(map(shlex.quote, _settings(found, dropped)))
    other = "" if _to_drop(found) else " (dataset.drop=[NAME] leaves a column out instead)"
    raise UserError(
        f"dataset.path: columns of {path} need a decision: {told}; all is settled by "
        f"{settled}{other}{hint}."
    )


def _settings(found: Sequence[Decision], dropped: Sequence[str]) -> list[str]:
    """What settles everything, as words of a command line."""
    left = {one.column for one in found} - {*_to_drop(found)}
    settings = {one.setting: None for one in found if one.column in left}
    out = [*dropped, *_to_drop(found)]
    return [*settings, *([f"dataset.drop=[{','.join(out)}]"] if _to_drop(found) else [])]


def _to_drop(found: Sequence[Decision]) -> list[str]:
    return list(dict.fromkeys(one.column for one in found if not one.setting))


def _decisions(cells: pd.Series, encoding: Encoding, policy: Policy) -> list[Decision]:
    name = encoding.column
    out = f"dataset.drop=[{name}] leaves it out"
    if cells.isna().all():
        return [Decision(name, "is empty", (out,))]
    if encoding.kind == CATEGORIES:
        return _about_words(cells, encoding, policy, out)
    found = []
    if encoding.kind == DATES and policy.dates == REFUSE:
        ways = ("dataset.dates=numbers counts days", out)
        found.append(Decision(name, "holds dates", ways, "dataset.dates=numbers"))
    return [*found, *_about_gaps(name, encoding.apply(cells)[0], policy, out)]


def _about_words(cells: pd.Series, encoding: Encoding, policy: Policy, out: str) -> list[Decision]:
    words, text = words_of(cells), is_text(cells)
    first, count = int(np.flatnonzero(text)[0]), len(encoding.values)
    hint = DATE_FORMS if OTHER_DATE.fullmatch(words.iloc[first]) else ""
    found = f"holds the text {words.iloc[first]!r} in data row {first + 1}"
    if text.sum() < words.notna().sum() / 2:
        correct = f"every cell must be a number, or {out}"
        return [Decision(encoding.column, found, (correct,), hint=hint)]
    if count > MOST_CATEGORIES:
        found += f" ({count} values, more than the {MOST_CATEGORIES} that can be columns)"
        return [Decision(encoding.column, found, (out,), hint=hint)]
    if policy.categorical == ONEHOT:
        return []
    ways = (f"dataset.categorical=onehot makes columns of its {count} values", out)
    return [Decision(encoding.column, found, ways, "dataset.categorical=onehot", hint)]


def _about_gaps(name: str, numbers: np.ndarray, policy: Policy, out: str) -> list[Decision]:
    def where(cells: np.ndarray) -> str:
        return f"{cells.sum()} of {len(cells)} rows (first in data row {cells.argmax() + 1})"

    gaps, infinite = np.isnan(numbers), np.isinf(numbers)
    if infinite.any():
        return [Decision(name, f"is infinite in {where(infinite)}", (f"correct it, or {out}",))]
    if gaps.any() and policy.missing != IMPUTE:
        ways = (
            "dataset.missing=drop leaves such rows out",
            "dataset.missing=impute puts means there",
        )
        return [Decision(name, f"is empty in {where(gaps)}", ways, "dataset.missing=impute")]
    return []


def check_no_words(path: Path, target: str, cells: pd.Series, encoding: Encoding) -> None:
    """Refuses a target that is no number.

    Raises:
        UserError: naming the first cell that is none.
    """
    if encoding.kind == CATEGORIES and not cells.isna().all():
        first = int(np.flatnonzero(is_text(cells))[0])
        raise UserError(
            f"dataset.path: column {target!r} of {path}, the target, holds the text "
            f"{words_of(cells).iloc[first]!r} in data row {first + 1}, and there must be a number "
            "to predict."
        )
