"""Rows of another file, as the inputs of a table that is known."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.own_table.columns import CATEGORIES, Encoding
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd


def inputs_of(
    frame: pd.DataFrame, encodings: Sequence[Encoding], name: str
) -> tuple[np.ndarray, list[str]]:
    """Finds the columns by name, wherever they stand.

    Args:
        frame: the new rows.
        encodings: how each column of the known table became numbers.
        name: of the file, for messages.

    Returns:
        `[M, D]`, NaN where there is no value, and what should be said of it, a sentence each.

    Raises:
        UserError: if a column is missing, or holds something else than it did.
    """
    missing = [one.column for one in encodings if one.column not in frame]
    if missing:
        close = get_close_matches(missing[0], [str(column) for column in frame], n=1)
        hint = f" ({close[0]!r} is the closest)" if close else ""
        several = len(missing) > 1
        raise UserError(
            f"{name} lacks the column{'s' * several} {', '.join(missing)}{hint}; the model was "
            f"fitted with {'them' if several else 'it'}."
        )
    columns: list[np.ndarray] = []
    for one in encodings:
        try:
            columns += one.apply(frame[one.column])
        except UserError as error:
            raise UserError(f"{name}: {error}") from None
    inputs = np.column_stack(columns)
    if np.isinf(inputs).any():
        raise UserError(f"{name} holds infinite numbers.")
    return inputs, [*_unknown_words(frame, encodings, name), *_gaps(inputs, name)]


def _unknown_words(frame: pd.DataFrame, encodings: Sequence[Encoding], name: str) -> list[str]:
    said = []
    for one in encodings:
        if one.kind == CATEGORIES:
            words = frame[one.column].dropna().astype(str).str.strip()
            new = sorted({*words} - {*one.values})
            if new:
                said.append(
                    f"{name}: {one.column} holds {', '.join(new[:3])}"
                    f"{' and others' * (len(new) > 3)}, which the model has not seen; they count "
                    "as none of its values"
                )
    return said


def _gaps(inputs: np.ndarray, name: str) -> list[str]:
    gaps = int(np.isnan(inputs).sum())
    if not gaps:
        return []
    cells = "1 cell has" if gaps == 1 else f"{gaps} cells have"
    return [f"{name}: {cells} no value; the mean of the training rows stands there"]
