"""Read the rows of a text file of a known format."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells import SPELLINGS
from bnnbench.data.own_table.footer import MAX_FOOTER_ROWS, NOTE, find_footer, footer_note
from bnnbench.data.own_table.header import find_header, is_measured, is_word, usual_length
from bnnbench.data.own_table.names import (
    fill_names,
    name_by_position,
    with_names,
    without_empty_end,
)
from bnnbench.data.own_table.sizes import LimitedRows, limited_lines
from bnnbench.data.own_table.text_file import (
    SAMPLE_LINES,
    SEPARATORS,
    CellReader,
    TextFormat,
    lines_from,
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
        notes: on lines that are not data.
        width: the largest number of cells of the names, the first row, and most rows.
    """

    lines: int
    names: Sequence[str]
    notes: Sequence[str]
    width: int


def _heading(path: Path, text_format: TextFormat, header: bool | int) -> _Heading:
    rows, above = [], header - 1 if type(header) is int else 0
    firsts, ends = [1], [above]
    with open_text(path, text_format.encoding) as file:
        lines = lines_from(limited_lines(file, path), header)
        reader = CellReader(lines, text_format.separator)
        for row in islice(reader, SAMPLE_LINES):
            rows.append(row)
            firsts.append(above + reader.first)
            ends.append(above + reader.last)
    found = find_header(rows or [[""]], header)
    below = rows[found.below :]
    width = max(len(found.names), *([usual_length(below), len(below[0])] if below else [1]))
    names = found.names if header else name_by_position([""] * width)
    notes = found.notes(firsts[1:], "line")
    return _Heading(ends[found.below] if rows else 0, names, notes, width)


def read_text(
    path: Path,
    text_format: TextFormat,
    header: bool | int,
    codes: Sequence[str] = (),
    dtype: type | None = None,
    exact: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Read a text file, and return the frame and notes.

    Args:
        path: the file.
        text_format: its format.
        header: whether there are names of columns, or the line with them.
        codes: texts that mean a missing value.
        dtype: of the columns; None for numbers where possible.
        exact: whether to preserve blanks, texts that mean a missing value, and empty rows.
    """
    heading = _heading(path, text_format, header)
    read = partial(_rows, path, text_format, heading, codes, dtype, exact)
    frame, is_cut = read()
    end: list[str] = []
    if not exact:
        frame, end = without_empty_end(frame)
        kinds = find_footer(frame, text_format.decimal)
        if kinds or is_cut:
            start = len(frame) - len(kinds)
            frame, more = without_empty_end(frame.head(start))
            frame = read(len(frame))[0] if kinds else frame  # the footer changed types of columns
            below = _lines(path, text_format, heading)[start:]
            kinds += [NOTE] * (len(below) - len(kinds))
            pairs = zip(kinds, below, strict=False)  # empty lines may follow
            end = [footer_note([(k, f"line {line}", c) for k, (line, c) in pairs]), *more]
    names = fill_names(heading.names, frame)
    if names is None:
        raise _bad_line(path, text_format, heading, len(heading.names))
    named, notes = with_names(path, frame, names)
    return named, [*heading.notes, *notes, *end]


def _rows(
    path: Path,
    text_format: TextFormat,
    heading: _Heading,
    codes: Sequence[str],
    dtype: type | None,
    exact: bool,
    length: int | None = None,
) -> tuple[pd.DataFrame, bool]:
    """Read rows below the heading, all unless `length` is given, with column numbers as names.

    Returns:
        The rows, and whether notes below them are left out that have more cells than columns.
    """
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
                skipinitialspace=not exact, nrows=length,
            ), length is not None  # fmt: skip
        except pd.errors.EmptyDataError:
            return pd.DataFrame(columns=columns), False
        except (pd.errors.ParserError, pd.errors.ParserWarning):
            error = _bad_line(path, text_format, heading, heading.width)
    above = _above_long_notes(path, text_format, heading) if length is None else None
    if above is None:
        raise error
    return _rows(path, text_format, heading, codes, dtype, exact, above)


def _lines(path: Path, text_format: TextFormat, heading: _Heading) -> list[tuple[int, list[str]]]:
    """Return the line and the cells of each row below the heading."""
    with open_text(path, text_format.encoding) as file:
        reader = CellReader(limited_lines(file, path), text_format.separator)
        return [(reader.first, cells) for cells in reader if reader.last > heading.lines]


def _above_long_notes(path: Path, text_format: TextFormat, heading: _Heading) -> int | None:
    """Return the number of rows above notes with more cells than columns; None without notes."""
    rows = [cells for _, cells in _lines(path, text_format, heading)]
    first = next((k for k, cells in enumerate(rows) if len(cells) > heading.width), 0)
    if not 0 < len(rows) - first <= min(MAX_FOOTER_ROWS, first):
        return None
    numbers = [k for k, cell in enumerate(rows[first - 1]) if is_measured(cell)]
    words = [k for k in numbers if not is_measured(rows[first][k])]
    return first if is_word(rows[first][0]) and 2 * len(words) >= len(numbers) > 0 else None


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
