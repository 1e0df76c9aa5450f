"""Detect the format of a text file: its encoding, column separator and decimal mark."""

from __future__ import annotations

import codecs
import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from bnnbench.data.errors import invalid
from bnnbench.files import check_archive, open_unpacked

AUTO = "auto"

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": r"\s+"}
"""Column separators by the names that settings and messages use."""

SAMPLE_LINES = 200
"""Number of lines from which the format is detected."""

ENCODING_BY_BOM = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by byte order mark."""

UTF8, FALLBACK_ENCODING = "utf-8", "cp1252"
"""Encodings to try, in this order, for files without a byte order mark."""

DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
DECIMAL_COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][-+]?\d+)?")
MAYBE_GROUPED = {
    ".": re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?"),
    ",": re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?"),
}
"""A number whose points or commas may separate thousands."""

GROUPED_NUMBER = {
    ".": re.compile(r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?([eE][-+]?\d+)?"),
    ",": re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?([eE][-+]?\d+)?"),
}
"""A number with thousands separators, by the separator."""

csv.field_size_limit(2**31 - 1)  # by default, cells have at most 131,072 characters


@dataclass(frozen=True)
class TextFormat:
    """The format of a text file.

    Attributes:
        separator: the name of one of `SEPARATORS`.
        decimal: `.` or `,`.
        encoding: a Python codec.
        thousands: `.` or `,` if it groups digits, else None.
    """

    separator: str = "comma"
    decimal: str = "."
    encoding: str = UTF8
    thousands: str | None = None

    def __str__(self) -> str:
        """Describe the format to the user."""
        columns = f"columns separated by {self.separator}s"
        decimals = "decimal commas" if self.decimal == "," else "decimal points"
        mark = {".": "points", ",": "commas"}.get(self.thousands or "")
        grouped = f" and {mark} as thousands separators" if mark else ""
        return f"{columns}, {decimals}{grouped}, {self.encoding} encoding"


def detect_format(path: Path, separator: str, decimal: str, encoding: str) -> TextFormat:
    """Detect the format of a file, where a setting is `auto`, from its first lines.

    Args:
        path: the file, which may be compressed.
        separator: one of `SEPARATORS`, or `auto`.
        decimal: `.`, `,` or `auto`.
        encoding: a Python codec, or `auto`.

    Raises:
        UserError: if the file is empty or not text, or commas may separate decimals or thousands.
    """
    encoding = _encoding(path) if encoding == AUTO else encoding
    with open_text(path, encoding) as file:
        lines = [line for line in islice(file, SAMPLE_LINES) if line.strip()]
    if not lines:
        raise invalid("path", "empty_file", f"{path} is empty; it must contain a table.")
    separator = _separator(lines) if separator == AUTO else separator
    cells = [cell for row in split_cells(lines[1:], separator) for cell in row]
    if decimal == AUTO:
        decimal = _decimal(path, cells, separator)
    mark = "." if decimal == "," else ","
    grouped = any(MAYBE_GROUPED[mark].fullmatch(cell) for cell in cells)
    return TextFormat(separator, decimal, encoding, mark if grouped else None)


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a text file, which may be compressed.

    Raises:
        UserError: if it is an archive of several files.
    """
    return io.TextIOWrapper(_bytes(path), encoding=encoding, errors="strict", newline="")


def split_cells(lines: Sequence[str], separator: str) -> list[list[str]]:
    """Split each line into stripped cells."""
    if separator == "space":
        return [line.split() for line in lines]
    rows = csv.reader(lines, delimiter=SEPARATORS[separator], skipinitialspace=True)
    return [[cell.strip() for cell in row] for row in rows]


def _bytes(path: Path) -> IO[bytes]:
    suffix = path.suffix.lower()
    if suffix != ".zip":
        return open_unpacked(path)
    check_archive(path)
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise invalid(
            "path", "archive", f"{path} contains {len(names)} files; unpack the one with the table."
        )
    return archive.open(names[0])


def _encoding(path: Path) -> str:
    """Return the encoding of the byte order mark, else UTF-8 if the file is valid, else cp1252."""
    with _bytes(path) as file:
        start = file.read(4)
    for mark, name in ENCODING_BY_BOM.items():
        if start.startswith(mark):
            return name
    decoder = codecs.getincrementaldecoder(UTF8)()
    with _bytes(path) as file:
        try:
            while piece := file.read(1 << 20):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return FALLBACK_ENCODING
    return UTF8


def _separator(lines: Sequence[str]) -> str:
    """Return the separator that splits most lines into equally many, and most, cells."""
    best, separator = (0.0, 1), "comma"
    for name in SEPARATORS:
        counts = Counter(len(row) for row in split_cells(lines, name))
        cells, often = counts.most_common(1)[0]
        heads_alike = len(split_cells(lines[:1], name)[0]) == cells
        if cells > 1 and (name != "space" or (heads_alike and often == len(lines))):
            best, separator = max(
                (best, separator), ((often / len(lines), cells), name), key=_score
            )
    return separator


def _score(choice: tuple[tuple[float, int], str]) -> tuple[float, int]:
    return choice[0]


def _decimal(path: Path, cells: Sequence[str], separator: str) -> str:
    """Return a comma if some numbers have decimal commas and none has a decimal point.

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
    usual = {"comma": ".", "space": ".", "semicolon": ","}.get(separator)
    unusual = [*(points if usual != "." else ()), *(commas if usual != "," else ())]
    if not unusual:
        return "," if commas else "."
    plain = re.sub("[.,]", "", unusual[0])
    raise invalid(
        "decimal",
        "ambiguous",
        f"{unusual[0]} in {path} may be {plain} or {re.sub('[.,]', '.', unusual[0])}; set "
        "dataset.decimal=. or \"dataset.decimal=','\" (`bnnbench predict`: --decimal).",
    )
