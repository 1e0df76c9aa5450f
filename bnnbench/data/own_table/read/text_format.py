"""Detect the format of a text file: its encoding, column separator and decimal mark."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from threading import Lock
from typing import IO

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells.numbers import MISSING, THOUSANDS, grouped_number, other_marks
from bnnbench.data.own_table.cells.units import CURRENCY, split_cells
from bnnbench.data.own_table.read.file_kinds import open_content
from bnnbench.data.own_table.read.header import find_header, usual_length
from bnnbench.data.own_table.read.sizes import limited_lines
from bnnbench.data.own_table.read.text_encodings import UTF8, detect_encoding
from bnnbench.types import UserError

AUTO = "auto"

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": r"\s+"}
"""Column separators by the names that settings and messages use."""

SAMPLE_LINES = 200
"""Number of lines from which the format is detected."""

DECIMAL_POINT = re.compile(r"[-+]?(\d*|\d{1,3}([^\w.]\d{3})+)\.\d+([eE][-+]?\d+)?")
DECIMAL_COMMA = re.compile(r"[-+]?(\d+|\d{1,3}([^\w,]\d{3})+),\d+([eE][-+]?\d+)?")

MAX_CELL = 2**31 - 1
"""Characters of a cell; by default, Python's reader accepts 131,072."""

_field_size_limit = Lock()
"""The limit is one of the process."""

MAYBE_GROUPED = {
    mark: re.compile(f"[-+]?{grouped_number(mark, decimal)}")
    for mark, decimal in ((".", ","), (",", "."))
}
"""A number whose points or commas may separate thousands."""


@dataclass(frozen=True)
class TextFormat:
    """The format of a text file.

    Attributes:
        separator: the name of one of `SEPARATORS`.
        decimal: `.` or `,`.
        encoding: a Python codec.
        thousands: the mark that groups digits, one of `THOUSANDS`, or None.
    """

    separator: str = "comma"
    decimal: str = "."
    encoding: str = UTF8
    thousands: str | None = None

    def __str__(self) -> str:
        """Describe the format to the user."""
        columns = f"columns separated by {self.separator}s"
        decimals = "decimal commas" if self.decimal == "," else "decimal points"
        mark = THOUSANDS.get(self.thousands or "")
        grouped = f" and {mark} as thousands separators" if mark else ""
        return f"{columns}, {decimals}{grouped}, {self.encoding} encoding"


def detect_format(
    path: Path, separator: str, decimal: str, encoding: str, header: bool | int = True
) -> TextFormat:
    """Detect the format of a file, where a setting is `auto`, from its first lines.

    Args:
        path: the file, which may be compressed.
        separator: one of `SEPARATORS`, or `auto`.
        decimal: `.`, `,` or `auto`.
        encoding: a Python codec, or `auto`.
        header: whether there are names of columns, or the line with them; those above it are
            not used.

    Raises:
        UserError: if the file is empty or not text, or commas may separate decimals or thousands.
    """
    encoding = detect_encoding(path) if encoding == AUTO else encoding
    with open_text(path, encoding) as file:
        lines = [*islice(lines_from(limited_lines(file, path), header), SAMPLE_LINES)]
    if type(header) is int and not any(map(str.strip, lines[:1])):
        raise no_names(path, "line", header)
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise invalid("path", "empty_file", f"{path} is empty; it must contain a table.")
    separator = _separator(lines, header) if separator == AUTO else separator
    rows = [*CellReader(lines, separator)] or [[""]]
    data = rows[find_header(rows, header).below :] or rows
    cells, amounts = _without_units([*zip_longest(*data, fillvalue="")])
    if decimal == AUTO:
        decimal = _decimal(path, cells, amounts, separator)
    pattern = re.compile(f"[-+]?{grouped_number(other_marks(decimal), decimal)}")
    grouped = next(filter(None, map(pattern.fullmatch, cells)), None)
    return TextFormat(separator, decimal, encoding, grouped and grouped["mark"])


def lines_from(lines: Iterable[str], header: bool | int) -> Iterator[str]:
    """Return all lines, or those from the line of the names if it is given."""
    return islice(lines, header - 1 if type(header) is int else 0, None)


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a text file, which may be compressed.

    Raises:
        UserError: if it is an archive of several files.
    """
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"  # without a byte order mark
    return io.TextIOWrapper(open_content(path), encoding=encoding, errors="strict", newline="")


class CellReader(Iterator[list[str]]):
    """The stripped cells of each line that is not blank; quoted cells may contain line breaks.

    Attributes:
        first: the number of the first line of the latest cells, from 1.
    """

    def __init__(self, lines: Iterable[str], separator: str) -> None:
        blanks = separator == "space"
        mark = " " if blanks else SEPARATORS[separator]
        lines = (line.replace("\t", " ").strip() + "\n" for line in lines) if blanks else lines
        self.first = 0
        self._rows = csv.reader(lines, delimiter=mark, skipinitialspace=True)

    @property
    def last(self) -> int:
        """The number of the last line of the latest cells."""
        return self._rows.line_num

    def __next__(self) -> list[str]:
        while True:
            self.first = self.last + 1
            with _field_size_limit:
                before = csv.field_size_limit(MAX_CELL)
                try:
                    cells = next(self._rows)
                finally:
                    csv.field_size_limit(before)
            if len(cells) > 1 or "".join(cells).strip(" \t"):
                return [cell.strip() for cell in cells]


def no_names(path: Path, noun: str, header: int) -> UserError:
    """Return the error about a line or row of the names that does not exist or is empty."""
    return invalid(
        "header",
        "no_names",
        f"{noun} {header} of {path} is empty or does not exist; dataset.header must be the number "
        f"of the {noun} with the names.",
    )


def _separator(lines: Sequence[str], header: bool | int) -> str:
    """Return the separator with which the table looks most regular.

    The names must come early and have the usual number of cells; then the most lines must have this
    number; then it must be large. Blanks must split all lines into equally many cells.
    """
    scores: dict[str, tuple[float, ...]] = {}
    for separator in SEPARATORS:
        rows = [*CellReader(lines, separator)] or [[""]]
        usual, found = usual_length(rows), find_header(rows, header or True)
        regular = [len(row) == usual for row in rows]
        if usual > 1 and (separator != "space" or all(regular[found.row + 1 :])):
            unlike = abs(len(found.names) - usual) + found.row
            scores[separator] = (-unlike, sum(regular) / len(rows), usual)
    return max(scores, key=lambda name: scores[name], default="comma")


def decimal_of_texts(path: Path, columns: Sequence[Sequence[str]]) -> str:
    """Return the decimal mark of the columns of text of a workbook; errors as in `_decimal`."""
    return _decimal(path, *_without_units(columns), "")


def _without_units(columns: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """Return the cells of all columns, and those of them that are amounts of money.

    In columns of numbers, cells are without units.
    """
    import pandas as pd

    cells = [(k, cell) for k, column in enumerate(columns) for cell in column]
    frame = pd.DataFrame(cells, columns=["column", "text"])
    frame = frame[~frame["text"].str.lower().isin(MISSING)]
    parts = split_cells(frame["text"]).reindex(frame.index)
    numeric = parts["number"].notna().groupby(frame["column"]).transform("mean") > 0.5
    is_amount = parts["unit"].str.fullmatch(CURRENCY, na=False)
    texts = parts["number"].where(numeric, frame["text"]).dropna()
    return [*texts], [*texts[numeric & is_amount]]


def _decimal(path: Path, cells: Sequence[str], amounts: Sequence[str], separator: str) -> str:
    """Return a comma if some numbers have decimal commas and none has a decimal point.

    Amounts of money never have three decimals, and a mark that occurs twice groups digits.

    Raises:
        UserError: if every mark may also separate thousands, as in 1,230 or 1.230. Files with
            decimal points use commas between columns, and files with decimal commas semicolons.
    """
    points = [cell for cell in cells if DECIMAL_POINT.fullmatch(cell)]
    commas = [cell for cell in cells if DECIMAL_COMMA.fullmatch(cell)]
    if not all(map(MAYBE_GROUPED["."].fullmatch, points)):
        return "."
    if not all(map(MAYBE_GROUPED[","].fullmatch, commas)):
        return ","
    for mark, other in ((".", ","), (",", ".")):
        several = [cell for cell in cells if cell.count(mark) > 1]  # 1,234,567 has groups
        if any(map(MAYBE_GROUPED[mark].fullmatch, [*amounts, *several])):
            return other
    usual = {"comma": ".", "space": ".", "semicolon": ","}.get(separator)
    unusual = [*(points if usual != "." else ()), *(commas if usual != "," else ())]
    if not unusual:
        return "," if commas else "."
    plain = re.sub("[.,]", "", unusual[0])
    raise invalid(
        "decimal",
        "ambiguous",
        f"{unusual[0]} in {path} may be {plain} or {re.sub('[.,]', '.', unusual[0])}; set "
        "dataset.decimal=. or \"dataset.decimal=','\".",
    )
