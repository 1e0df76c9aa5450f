"""A text file: detect its encoding, column separator and decimal mark, and read its rows."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells.numbers import (
    CURRENCY,
    MISSING,
    SPELLINGS,
    THOUSANDS,
    grouped_number,
    other_marks,
    split_cells,
)
from bnnbench.data.own_table.read.file_kinds import UTF8, detect_encoding, open_text
from bnnbench.data.own_table.read.footer import (
    MAX_FOOTER_ROWS,
    NOTE,
    NOTES,
    footer_note,
    without_footer,
)
from bnnbench.data.own_table.read.names import (
    fill_names,
    find_header,
    name_by_position,
    usual_length,
    with_names,
)
from bnnbench.data.own_table.read.sizes import LimitedRows, limited_lines
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

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


@dataclass(frozen=True)
class ReadingSettings:
    """How a file is read.

    Attributes:
        separator: column separator of a text file, one of `SEPARATORS` or `auto`.
        decimal: decimal mark of text: `.`, `,` or `auto`.
        encoding: encoding of a text file, or `auto`.
        sheet: the sheet of a workbook; None means the first.
        header: whether a text or a sheet has the names, or the line or row that has them; if not,
            the columns are `column_1`, `column_2`, ...
        missing_values: numbers and strings that mean a missing value, besides `numbers.MISSING`.
    """

    separator: str = AUTO
    decimal: str = AUTO
    encoding: str = AUTO
    sheet: str | None = None
    header: bool | int = True
    missing_values: tuple[str, ...] = ()


def detect_format(path: Path, how: ReadingSettings) -> TextFormat:
    """Detect the format of a file, where a setting is `auto`, from its first lines.

    Lines above the one that is set to have the names are not used.

    Raises:
        UserError: if the file is empty or not text, or commas may separate decimals or thousands.
    """
    header = how.header
    encoding = detect_encoding(path) if how.encoding == AUTO else how.encoding
    with open_text(path, encoding) as file:
        lines = [*islice(lines_from(limited_lines(file, path), header), SAMPLE_LINES)]
    if type(header) is int and not any(map(str.strip, lines[:1])):
        raise no_names(path, "line", header)
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise invalid("path", "empty_file", f"{path} is empty; it must contain a table.")
    separator = _separator(lines, header) if how.separator == AUTO else how.separator
    rows = [*CellReader(lines, separator)] or [[""]]
    data = rows[find_header(rows, header).below :] or rows
    cells, amounts = _without_units([*zip_longest(*data, fillvalue="")])
    decimal = how.decimal if how.decimal != AUTO else _decimal(path, cells, amounts, separator)
    pattern = re.compile(f"[-+]?{grouped_number(other_marks(decimal), decimal)}")
    grouped = next(filter(None, map(pattern.fullmatch, cells)), None)
    return TextFormat(separator, decimal, encoding, grouped and grouped["mark"])


def lines_from(lines: Iterable[str], header: bool | int) -> Iterator[str]:
    """Return all lines, or those from the line of the names if it is given."""
    return islice(lines, header - 1 if type(header) is int else 0, None)


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
        """Find the names of the columns, and where the rows start, in the first lines."""
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
