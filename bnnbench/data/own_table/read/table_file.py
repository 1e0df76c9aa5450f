"""Read a file of any supported format into a frame with named columns."""

from __future__ import annotations

import csv
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells.numbers import MISSING, SPELLINGS, MissingCodes, read_cells
from bnnbench.data.own_table.read.file_kinds import (
    FALLBACK_ENCODING,
    check_kind,
    detect_encoding,
    encoding_candidates,
)
from bnnbench.data.own_table.read.footer import without_footer
from bnnbench.data.own_table.read.frame_file import SUFFIX, read_frame_file
from bnnbench.data.own_table.read.names import (
    find_header,
    header_note,
    name_by_position,
    with_names,
)
from bnnbench.data.own_table.read.sizes import (
    check_categories,
    check_columns_of,
    check_sheet,
    check_workbook,
)
from bnnbench.data.own_table.read.text_file import (
    AUTO,
    SAMPLE_LINES,
    ReadingSettings,
    TextFormat,
    decimal_of_texts,
    detect_format,
    no_names,
    read_text,
)
from bnnbench.files import open_file
from bnnbench.near_names import with_known
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

EXCEL, COLUMNAR = (".xlsx", ".xlsm"), (".parquet", ".pq", ".feather", ".arrow", SUFFIX)

DAMAGED = (OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError)
"""Errors raised when a file cannot be read or unpacked; a `RuntimeError` is that of an archive with
a password or an unknown compression."""

EXTRA = ".[tables]"
"""The optional dependencies for files other than text."""


def read_frame(path: Path, how: ReadingSettings) -> tuple[pd.DataFrame, str]:
    """Read a file.

    Args:
        path: a text file (`.csv`, `.tsv` or any other extension, possibly compressed), an Excel
            workbook, a parquet or feather file, or a frame's own file.
        how: its settings; those of other kinds of files are not used.

    Returns:
        The frame, and notes, which may be empty: the detected text format if it is not the default
        one, and what was skipped, dropped or named.

    Raises:
        UserError: if the file does not exist or is not a table.
    """
    _check_name(path)
    kind, codes = path.suffix.lower(), MissingCodes.of(how.missing_values)
    if how.sheet is not None and kind not in EXCEL:
        raise invalid("sheet", "no_workbook", f"{path} has no sheets; remove dataset.sheet.")
    with _reading(path, how.encoding):
        check_kind(path)
        if kind in COLUMNAR:
            frame, notes = _columnar(path, kind)
            return _with_typed_texts(read_cells(frame, codes)), "; ".join(notes)
        if kind in EXCEL:
            frame, notes = _workbook(path, how.sheet, how.header)
            texts = frame.select_dtypes(["object", "str"])
            columns = [[cell for cell in texts[name] if isinstance(cell, str)] for name in texts]
            decimal = decimal_of_texts(path, columns) if how.decimal == AUTO else how.decimal
            frame = read_cells(frame, codes, MISSING, decimal)
        else:
            found = detect_format(path, how)
            frame, notes = read_text(path, found, how.header, codes.texts)
            frame = read_cells(frame, codes, MISSING, found.decimal)
            detected = AUTO in (how.separator, how.decimal, how.encoding) and found != TextFormat()
            guessed = how.encoding == AUTO and found.encoding == FALLBACK_ENCODING
            others = encoding_candidates(path) if guessed else ""
            doubt = [f"encoding: {others}: set dataset.encoding to the right one"] * bool(others)
            notes = [str(found)] * detected + doubt + notes
        hints = header_note(frame) if how.header else []
        return frame, "; ".join([*notes, *hints])


@contextmanager
def _reading(path: Path, encoding: str) -> Iterator[None]:
    """Convert the errors of reading a file to user errors."""
    try:
        yield
    except UserError:
        raise
    except FileNotFoundError:
        raise invalid("path", "file_not_found", f"file {path} does not exist.") from None
    except ImportError as error:
        raise invalid(
            "path",
            "missing_library",
            f"reading {path} requires {error.name or 'an optional library'}; install "
            f"it with `pip install '{EXTRA}'` in a clone of bnnbench.",
        ) from None
    except (LookupError, UnicodeError) as error:
        guess = f"{detect_encoding(path)} is a guess: " if encoding == AUTO else ""
        found = encoding_candidates(path, with_fallback=False) if encoding == AUTO else ""
        raise invalid(
            "encoding",
            None,
            f"cannot decode {path} ({guess}{_reason(error)}); set dataset.encoding"
            f"{found and f': {found}'}.",
        ) from None
    except DAMAGED as error:
        reason = getattr(error, "strerror", None) or _reason(error)
        advice = "; unpack it first" if isinstance(error, RuntimeError) else ""
        raise invalid("path", "unreadable", f"cannot read {path} ({reason}){advice}.") from None
    except (ValueError, OverflowError, csv.Error) as error:
        raise invalid(
            "path", "invalid_table", f"{path} is not a valid table ({_reason(error)})."
        ) from None


def encoding_hint(path: Path, encoding: str) -> str:
    """Say that the encoding of a text file was guessed, if it was; else return an empty string."""
    if encoding != AUTO or not path.is_file() or path.suffix.lower() in (*EXCEL, *COLUMNAR):
        return ""
    try:
        guess = detect_encoding(path)
    except (UserError, *DAMAGED):
        return ""
    if guess != FALLBACK_ENCODING:
        return ""
    others = encoding_candidates(path)
    shown = f" ({others})" if others else ""
    return f"the encoding {guess} is a guess{shown}: if it is wrong, set dataset.encoding"


def format_of(path: Path, how: ReadingSettings) -> TextFormat:
    """Return the format in which to write results for `path`: its own, if it is a text file."""
    if path.suffix.lower() in (*EXCEL, *COLUMNAR):
        return TextFormat()
    return detect_format(path, how)


def as_written(
    path: Path, frame: pd.DataFrame, text_format: TextFormat, how: ReadingSettings
) -> pd.DataFrame:
    """Return the cells of a file unchanged, so that 007, NA and leading blanks are preserved.

    Args:
        path: a file.
        frame: its rows as `read_frame` returns them.
        text_format: its format, if it is a text file.
        how: its settings.
    """
    if path.suffix.lower() in COLUMNAR:
        return frame
    if path.suffix.lower() in EXCEL:
        cells, _ = _workbook(path, how.sheet, how.header, exact=True)
        dates = frame.select_dtypes("datetime")
        return cells.head(len(frame)).assign(**{str(name): dates[name] for name in dates})
    try:
        cells, _ = read_text(path, text_format, how.header, dtype=str, exact=True)
    except (ValueError, UserError):  # a blank before a quotation mark
        cells = frame.head(0)
    if cells.shape[1] != frame.shape[1] or len(cells) < len(frame):
        cells, _ = read_text(path, text_format, how.header, dtype=str)
    return cells.head(len(frame))


def _check_name(path: Path) -> None:
    if ":/" in str(path):
        raise UserError(
            f"dataset.path must be a local file, not the URL {path}; download it first.",
            setting="dataset.path",
            code="url",
        )
    if path.exists() and not path.is_file() and not path.is_dir():
        raise invalid(
            "path",
            "not_a_regular_file",
            f"{path} is a device or a pipe, but the table is read more than once; "
            "save it to a file first.",
        )


def _workbook(
    path: Path, sheet: str | None, header: bool | int, exact: bool = False
) -> tuple[pd.DataFrame, list[str]]:
    import pandas as pd

    check_workbook(path)
    try:
        opened = pd.ExcelFile(path, engine="openpyxl")
    except KeyError:  # an archive without sheets
        raise invalid("path", "invalid_table", f"{path} is not an Excel workbook.") from None
    with opened as book:
        if sheet is not None and sheet not in book.sheet_names:
            known = with_known(sheet, book.sheet_names)
            raise invalid("sheet", None, f"{path} has no sheet {known}.")
        check_sheet(book.book[sheet or book.sheet_names[0]], path)
        read = partial(pd.read_excel, book, sheet or 0, header=None)
        above = header - 1 if type(header) is int else 0
        top = read(skiprows=above, nrows=SAMPLE_LINES, na_filter=False, dtype=str).fillna("")
        rows = [[cell.strip() for cell in row] for row in top.to_numpy().tolist()] or [[""]]
        if type(header) is int and not any(rows[0]):
            raise no_names(path, "row", header)
        found = find_header(rows, header)
        read_below = partial(
            read, skiprows=above + found.below, na_values=SPELLINGS, keep_default_na=False,
            na_filter=not exact, dtype=object if exact else None,
        )  # fmt: skip
        frame, end = read_below(), list[str]()
        if not exact:
            first = above + found.below + 1
            kept, end = without_footer(frame, ".", lambda k: f"row {first + k}")
            # The rows below may have changed the types of columns.
            frame = kept if len(kept) == len(frame) else read_below(nrows=len(kept))
    width = max(frame.shape[1], len(found.names))
    frame = frame.reindex(columns=range(width))
    names = [*found.names, *[""] * (width - len(found.names))]
    named, notes = with_names(path, frame, names if header else name_by_position(names))
    heading = found.notes(range(above + 1, above + len(rows) + 1), "row")
    return named, [*heading, *notes, *end]


def _columnar(path: Path, kind: str) -> tuple[pd.DataFrame, list[str]]:
    import pandas as pd

    if kind == SUFFIX:
        frame, names = read_frame_file(path)
    else:
        feather = kind in (".feather", ".arrow")
        with open_file(path) as file:
            compressible = file.read(4) != b"FEA1"  # the first version of feather
        if compressible:
            check_columns_of(path, feather)
        read: Callable[[Path], Any] = pd.read_feather if feather else pd.read_parquet
        frame = read(path).reset_index(drop=True)
        names = list(frame.columns)
    check_categories(frame, path)
    return with_names(path, frame, names)


def _with_typed_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Make strings categories, so that they are not taken for numbers or dates."""
    import pandas as pd

    is_text = {n: pd.api.types.infer_dtype(c, skipna=True) == "string" for n, c in frame.items()}
    return frame.astype({name: "category" for name, found in is_text.items() if found})


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
