"""Encode rows of another file as inputs of a known table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.own_table.cells.numbers import MissingCodes, read_cells
from bnnbench.data.own_table.columns.encoding import CATEGORIES, Encoding, as_strings
from bnnbench.near_names import closest_match, list_first, list_names
from bnnbench.notes import quantity, shorten
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd


def encode_rows(
    frame: pd.DataFrame,
    encodings: Sequence[Encoding],
    name: str,
    missing_values: Sequence[str] = (),
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Encode new rows; columns are matched by name.

    Args:
        frame: the new rows.
        encodings: the encodings of the known table's columns.
        name: the file, for messages.
        missing_values: numbers and strings that mean a missing value, besides `numbers.MISSING`.

    Returns:
        Inputs `[M, D]`, NaN where there is no value; whether a row has an unknown category, `[M]`;
        and warnings, a sentence each.

    Raises:
        UserError: if a column is missing or holds values of another kind.
    """
    import pandas as pd

    missing = [one.column for one in encodings if one.column not in frame]
    if missing:
        close = closest_match(missing[0], frame)
        hint = f" (it has {shorten(close)!r})" if close else ""
        several = len(missing) > 1
        raise UserError(
            f"{name} lacks the column{'s' * several} {list_names(missing)}{hint}; the model was "
            f"fitted with {'them' if several else 'it'}.",
            setting=missing[0],
            code="missing_column",
        )
    frame = read_cells(frame[[one.column for one in encodings]], MissingCodes.of(missing_values))
    columns: list[np.ndarray] = []
    plain = [
        f"{shorten(one.column)} in {shorten(one.unit)!r}"
        for one in encodings
        if one.unit and pd.to_numeric(frame[one.column], errors="coerce").notna().any()
    ]
    for one in encodings:
        try:
            columns += one.apply(frame[one.column])
        except UserError as error:
            raise UserError(f"{name}: {error}", error.setting, error.code) from None
    inputs = np.column_stack(columns)
    if np.isinf(inputs).any():
        raise UserError(f"{name} holds infinite numbers; correct them.", code="infinite")
    unknown, warnings = _unknown_words(frame, encodings, name)
    if plain:
        warnings.insert(0, f"{name}: numbers without a unit are read as {list_first(plain)}")
    return inputs, unknown, [*warnings, *_gaps(inputs, name)]


def _unknown_words(
    frame: pd.DataFrame, encodings: Sequence[Encoding], name: str
) -> tuple[np.ndarray, list[str]]:
    unknown, held, gaps = np.zeros(len(frame), bool), [], []
    for one in (one for one in encodings if one.kind == CATEGORIES):
        words = as_strings(frame[one.column], one.values).reset_index(drop=True)
        new = words[words.notna() & ~words.isin(one.values)]
        unknown[new.index] = True
        first = new.drop_duplicates()
        if len(first):
            listed = [f"{shorten(word)} (row {k + 1})" for k, word in first.head(3).items()]
            others = " and others" * (len(first) > 3)
            held.append(f"{one.column} holds {', '.join(listed)}{others}")
        if words.isna().any():
            gaps.append(f"{quantity(int(words.isna().sum()), 'row')} of {one.column}")
    new_words = "which the original table does not contain; they are encoded as zeros"
    warnings = [f"{name}: {list_first(held)}, {new_words}"] if held else []
    if gaps:
        warnings.append(f"{name}: no value in {list_first(gaps)}, encoded as zeros")
    return unknown, warnings


def _gaps(inputs: np.ndarray, name: str) -> list[str]:
    gaps = int(np.isnan(inputs).sum())
    if not gaps:
        return []
    cells = "1 cell has" if gaps == 1 else f"{gaps} cells have"
    return [f"{name}: {cells} no value and will be filled with the mean of the training rows"]
