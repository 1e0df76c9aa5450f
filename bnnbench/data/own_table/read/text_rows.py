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
from bnnbench.data.own_table.cells.numbers import SPELLINGS
from bnnbench.data.own_table.read.footer import (
    MAX_FOOTER_ROWS,
    NOTE,
    NOTES,
    footer_note,
    without_footer,
)
from bnnbench.data.own_table.read.header import find_header, usual_length
from bnnbench.data.own_table.read.names import (
    fill_names,
    name_by_position,
    with_names,
)
from bnnbench.data.own_table.read.sizes import LimitedRows, limited_lines
from bnnbench.data.own_table.read.text_format import (
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
class _TextFile:
    """A text file of a known format.

    Attributes:
        path: the file.
        form: its format.
        above: the number of lines above the rows, including that of the names.
        names: of the columns.
        notes: on lines that are not data.
        width: the largest number of cells of the names, the first row, and most rows.
    """

    path: Path
    form: TextFormat
    above: int
    names: Sequence[str]
    notes: Sequence[str]
    width: int

    @classmethod
    def of(cls, path: Path, form: TextFormat, header: bool | int) -> _TextFile:
        rows, above = [], header - 1 if type(header) is int else 0
        firsts, ends = [1], [above]
        with open_text(path, form.encoding) as file:
            reader = CellReader(lines_from(limited_lines(file, path), header), form.separator)
            for row in islice(reader, SAMPLE_LINES):
                rows.append(row)
                firsts.append(above + reader.first)
                ends.append(above + reader.last)
        found = find_header(rows or [[""]], header)
        below = rows[found.below :]
        width = max(len(found.names), *([usual_length(below), len(below[0])] if below else [1]))
        names = found.names if header else name_by_position([""] * width)
        notes = found.notes(firsts[1:], "line")
        return cls(path, form, ends[found.below] if rows else 0, names, notes, width)

    def rows(
        self, codes: Sequence[str], dtype: type | None, exact: bool, length: int | None = None
    ) -> pd.DataFrame:
        """Read rows, all unless `length` is given, with column numbers as names."""
        import pandas as pd

        columns = list(range(self.width))
        with open_text(self.path, self.form.encoding) as file, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a long first row
            for _ in range(self.above):
                next(file)
            separator = SEPARATORS[self.form.separator]
            try:
                rows = LimitedRows(file, self.path, separator, self.width)
                return pd.read_csv(
                    rows, header=None, names=columns, index_col=False, dtype=dtype,
                    low_memory=False, sep=separator, decimal=self.form.decimal,
                    na_values=[*SPELLINGS, *codes], keep_default_na=False, na_filter=not exact,
                    skipinitialspace=not exact, nrows=length,
                )  # fmt: skip
            except pd.errors.EmptyDataError:
                return pd.DataFrame(columns=columns)
            except (pd.errors.ParserError, pd.errors.ParserWarning):
                raise self.bad_line(self.width) from None

    def cells(self) -> list[tuple[int, list[str]]]:
        """Return the line and the cells of each row."""
        with open_text(self.path, self.form.encoding) as file:
            reader = CellReader(file, self.form.separator)
            return [(reader.first, cells) for cells in reader if reader.last > self.above]

    def bad_line(self, width: int) -> UserError:
        """Return the error about the first line with more cells than `width`."""
        line = 1
        for line, cells in self.cells():
            if len(cells) > width:
                return invalid(
                    "path",
                    "too_many_fields",
                    f"line {line} of {self.path} has {len(cells)} fields, but the table has "
                    f"{width} columns; correct this line, or set dataset.separator if this format "
                    f"is wrong: {self.form}.",
                )
        return invalid(
            "path", "open_quote", f"the quotation mark in line {line} of {self.path} is not closed."
        )


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
        codes: strings that mean a missing value.
        dtype: of the columns; None for numbers where possible.
        exact: whether to preserve blanks, strings that mean a missing value, and empty rows.
    """
    file = _TextFile.of(path, text_format, header)
    read = partial(file.rows, codes, dtype, exact)
    end: list[str] = []
    try:
        frame = read()
    except UserError:
        below = file.cells()
        long = _long_notes(below, file.width)
        if not long:
            raise
        lines, cells = zip(*below[-long:], strict=True)
        end = [footer_note([NOTE] * long, f"line {lines[0]}", cells)]
        frame = read(len(below) - long)
    if not exact:
        kept, notes = without_footer(
            frame, text_format.decimal, lambda k: f"line {file.cells()[k][0]}"
        )
        # The rows below may have changed the types of columns.
        frame, end = kept if len(kept) == len(frame) else read(len(kept)), [*notes, *end]
    names = fill_names(file.names, frame)
    if names is None:
        raise file.bad_line(len(file.names))
    named, notes = with_names(path, frame, names)
    return named, [*file.notes, *notes, *end]


def _long_notes(rows: Sequence[tuple[int, list[str]]], width: int) -> int:
    """Return the number of rows from the first one with too many cells if it is a note; else 0."""
    count = next((len(rows) - k for k, (_, cells) in enumerate(rows) if len(cells) > width), 0)
    if not 0 < count <= min(MAX_FOOTER_ROWS, len(rows) // 2):
        return 0
    (_, above), (_, first) = rows[-count - 1], rows[-count]
    is_note = any(sign.search(first[0]) and not sign.search(above[0]) for sign in NOTES[:2])
    return count if is_note else 0
