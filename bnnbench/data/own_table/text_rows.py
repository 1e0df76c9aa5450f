"""Read the rows of a text file of a known format."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells import SPELLINGS
from bnnbench.data.own_table.names import (
    fill_names,
    find_header,
    name_by_position,
    usual_length,
    with_names,
    without_empty_end,
)
from bnnbench.data.own_table.sizes import LimitedRows, limited_lines
from bnnbench.data.own_table.text_file import (
    SAMPLE_LINES,
    SEPARATORS,
    CellReader,
    TextFormat,
    open_text,
)
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class _Heading:
    """What is above the rows of a text file.

    Attributes:
        lines: the number of lines, including that of the names.
        names: of the columns.
        skipped: the number of lines with titles and comments.
        width: the largest number of cells of the names, the first row, and most rows.
    """

    lines: int
    names: Sequence[str]
    skipped: int
    width: int


def _heading(path: Path, text_format: TextFormat, header: bool) -> _Heading:
    rows, ends = [], [0]
    with open_text(path, text_format.encoding) as file:
        reader = CellReader(limited_lines(file, path), text_format.separator)
        for row in islice(reader, SAMPLE_LINES):
            rows.append(row)
            ends.append(reader.last)
    start, names = find_header(rows or [[""]], header)
    below = rows[start + header :]
    width = max(len(names), *([usual_length(below), len(below[0])] if below else [1]))
    lines = ends[start + header] if rows else 0
    names = names if header else name_by_position([""] * width)
    return _Heading(lines, names, ends[start], width)


def read_text(
    path: Path,
    text_format: TextFormat,
    header: bool,
    codes: Sequence[str] = (),
    dtype: type | None = None,
    exact: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Read a text file, and return the frame and notes.

    Args:
        path: the file.
        text_format: its format.
        header: whether its first line has the names.
        codes: texts that mean a missing value.
        dtype: of the columns; None for numbers where possible.
        exact: whether to preserve blanks, texts that mean a missing value, and empty rows.
    """
    heading = _heading(path, text_format, header)
    frame = _rows(path, text_format, heading, codes, dtype, exact)
    end: list[str] = []
    if not exact:
        frame, end = without_empty_end(frame)
    names = fill_names(heading.names, frame)
    if names is None:
        raise _bad_line(path, text_format, heading, len(heading.names))
    named, notes = with_names(path, frame, names)
    if heading.skipped:
        lines = "1 line" if heading.skipped == 1 else f"{heading.skipped} lines"
        notes.insert(0, f"skipped {lines} above the table")
    return named, [*notes, *end]


def _rows(
    path: Path,
    text_format: TextFormat,
    heading: _Heading,
    codes: Sequence[str],
    dtype: type | None,
    exact: bool,
) -> pd.DataFrame:
    """Read the rows below the heading, with column numbers as names."""
    import pandas as pd

    columns = list(range(heading.width))
    with open_text(path, text_format.encoding) as file, warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a long first row
        for _ in range(heading.lines):
            next(file)
        separator = SEPARATORS[text_format.separator]
        try:
            rows = LimitedRows(file, path, separator, heading.width)
            return pd.read_csv(
                rows, header=None, names=columns, index_col=False, dtype=dtype, low_memory=False,
                sep=separator, decimal=text_format.decimal,
                na_values=[*SPELLINGS, *codes], keep_default_na=False, na_filter=not exact,
                skipinitialspace=not exact,
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            return pd.DataFrame(columns=columns)
        except (pd.errors.ParserError, pd.errors.ParserWarning):
            raise _bad_line(path, text_format, heading, heading.width) from None


def _bad_line(path: Path, text_format: TextFormat, heading: _Heading, width: int) -> UserError:
    """Return the error about the first line with more cells than `width`."""
    first = 1
    with open_text(path, text_format.encoding) as file:
        reader = CellReader(file, text_format.separator)
        for cells in reader:
            first = reader.first
            if reader.last > heading.lines and len(cells) > width:
                return invalid(
                    "path",
                    "too_many_fields",
                    f"line {first} of {path} has {len(cells)} fields, but the table has {width} "
                    f"columns; correct this line, or set dataset.separator if this format is "
                    f"wrong: {text_format}.",
                )
    return invalid(
        "path", "open_quote", f"the quotation mark in line {first} of {path} is not closed."
    )
