"""How a text file of rows is written: its encoding, what separates its columns, its decimals."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from bnnbench.types import UserError

AUTO = "auto"

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": r"\s+"}
"""Of columns, by the names that messages and settings have for them."""

LOOKED_AT = 200
"""Lines that are looked at to see how a file is written."""

ENCODINGS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""By the marks that files may begin with."""

PLAIN, WESTERN = "utf-8", "cp1252"
"""What files are written in that say nothing of it, in this order."""

OPENERS: dict[str, Callable[[Path], IO[bytes]]] = {
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".bz2": bz2.open,
    ".xz": lzma.open,
}

POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
COMMA = re.compile(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][-+]?\d+)?")
GROUPED = re.compile(r"[-+]?\d{1,3}(\.\d{3})+,\d+")
WITH_POINTS = re.compile(r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?([eE][-+]?\d+)?")
"""A number beside decimal commas in which a point can stand."""


@dataclass(frozen=True)
class Writing:
    """How a text file is written.

    Attributes:
        separator: one of `SEPARATORS`, by name.
        decimal: `.` or `,`.
        encoding: a codec of Python.
        thousands: `.` where it groups digits, else None.
    """

    separator: str = "comma"
    decimal: str = "."
    encoding: str = PLAIN
    thousands: str | None = None

    def __str__(self) -> str:
        """In words, for a reader."""
        between = f"columns between {self.separator}s" if self.separator != "space" else "columns"
        decimals = "decimal commas" if self.decimal == "," else "decimal points"
        grouped = " and points between thousands" if self.thousands else ""
        return f"{between}, {decimals}{grouped}, encoded in {self.encoding}"


def writing_of(path: Path, separator: str, decimal: str, encoding: str) -> Writing:
    """Looks at the first lines of a file.

    Args:
        path: the file, which may be compressed.
        separator: one of `SEPARATORS`, or `auto`; likewise the others.
        decimal: `.`, `,` or `auto`.
        encoding: a codec of Python, or `auto`.

    Raises:
        UserError: if it is empty, or no text.
    """
    encoding = _encoding(path) if encoding == AUTO else encoding
    with opened(path, encoding) as file:
        lines = [line for line in islice(file, LOOKED_AT) if line.strip()]
    if not lines:
        raise UserError(f"dataset.path: {path} is empty; it must hold a table.")
    separator = _separator(lines) if separator == AUTO else separator
    cells = [cell for row in cells_of(lines[1:], separator) for cell in row]
    if decimal == AUTO:
        decimal = _decimal(cells)
    grouped = decimal == "," and any(GROUPED.fullmatch(cell) for cell in cells)
    return Writing(separator, decimal, encoding, "." if grouped else None)


def opened(path: Path, encoding: str) -> IO[str]:
    """A text file, unpacked on the way where it is compressed.

    Raises:
        UserError: if it is an archive of more than one file.
    """
    return io.TextIOWrapper(_bytes(path), encoding=encoding, errors="strict", newline="")


def cells_of(lines: Sequence[str], separator: str) -> list[list[str]]:
    """The cells of each line, without the blanks around them."""
    if separator == "space":
        return [line.split() for line in lines]
    rows = csv.reader(lines, delimiter=SEPARATORS[separator], skipinitialspace=True)
    return [[cell.strip() for cell in row] for row in rows]


def _bytes(path: Path) -> IO[bytes]:
    if path.suffix.lower() != ".zip":
        return OPENERS.get(path.suffix.lower(), lambda name: name.open("rb"))(path)
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise UserError(
            f"dataset.path: {path} holds {len(names)} files; unpack the one that is the table."
        )
    return archive.open(names[0])


def _encoding(path: Path) -> str:
    """By its mark, else UTF-8 where the whole file is, else what western Windows writes."""
    with _bytes(path) as file:
        start = file.read(4)
    for mark, name in ENCODINGS.items():
        if start.startswith(mark):
            return name
    decoder = codecs.getincrementaldecoder(PLAIN)()
    with _bytes(path) as file:
        try:
            while piece := file.read(1 << 20):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return WESTERN
    return PLAIN


def _separator(lines: Sequence[str]) -> str:
    """The one that cuts most lines into equally many cells, the more of them the better."""
    best, found = (0.0, 1), "comma"
    for name in SEPARATORS:
        counts = Counter(len(row) for row in cells_of(lines, name))
        cells, often = counts.most_common(1)[0]
        heads_alike = len(cells_of(lines[:1], name)[0]) == cells
        if cells > 1 and (name != "space" or (heads_alike and often == len(lines))):
            best, found = max((best, found), ((often / len(lines), cells), name), key=_score)
    return found


def _score(choice: tuple[tuple[float, int], str]) -> tuple[float, int]:
    return choice[0]


def _decimal(cells: Sequence[str]) -> str:
    """A comma where some cells are numbers with one and none is a number with a point."""
    commas = any(COMMA.fullmatch(cell) for cell in cells)
    points = any(POINT.fullmatch(cell) and not COMMA.fullmatch(cell) for cell in cells)
    return "," if commas and not points else "."
