"""Read a file of any supported format into a frame with named columns."""

from __future__ import annotations

import csv
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.text_file import (
    AUTO,
    GROUPED_NUMBER,
    SEPARATORS,
    TextFormat,
    detect_format,
    open_text,
    split_cells,
)
from bnnbench.files import check_archive, check_size
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

MISSING = ["", "na", "NA", "n/a", "N/A", "nan", "NaN", "NAN", "null", "NULL", "none", "None"]
"""Texts that mean a missing value."""

EXCEL, COLUMNAR = (".xlsx", ".xlsm"), (".parquet", ".pq", ".feather", ".arrow")

DAMAGED = (OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
"""Errors raised when a file cannot be read or unpacked."""

EXTRA = ".[tables]"
"""The optional dependencies for files other than text."""


def read_frame(
    path: Path, separator: str, decimal: str, encoding: str, sheet: str | None
) -> tuple[pd.DataFrame, str]:
    """Read a file.

    Args:
        path: a text file (`.csv`, `.tsv` or any other extension, possibly compressed), an Excel
            workbook, or a parquet or feather file.
        separator: column separator of a text file, one of `text_file.SEPARATORS` or `auto`.
        decimal: decimal mark of a text file: `.`, `,` or `auto`.
        encoding: encoding of a text file, or `auto`.
        sheet: the sheet of a workbook; None means the first.

    Returns:
        The frame, and a description of the detected text format, empty if it is the default one or
        was not detected.

    Raises:
        UserError: if the file does not exist or is not a table.
    """
    _check_name(path)
    kind = path.suffix.lower()
    if sheet is not None and kind not in EXCEL:
        raise invalid("sheet", "no_workbook", f"{path} has no sheets; remove dataset.sheet.")
    try:
        if kind in EXCEL:
            return _named(path, _workbook(path, sheet)), ""
        if kind in COLUMNAR:
            return _columnar(path, kind), ""
        return _text(path, separator, decimal, encoding)
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
        raise invalid(
            "encoding",
            None,
            f"cannot decode {path} ({_reason(error)}); set the encoding of the file.",
        ) from None
    except DAMAGED as error:
        reason = getattr(error, "strerror", None) or _reason(error)
        raise invalid("path", "unreadable", f"cannot read {path} ({reason}).") from None
    except (ValueError, OverflowError, csv.Error) as error:
        raise invalid(
            "path", "invalid_table", f"{path} is not a valid table ({_reason(error)})."
        ) from None


def format_of(path: Path, decimal: str = AUTO) -> TextFormat:
    """Return the format in which to write results for `path`: its own, if it is a text file."""
    if path.suffix.lower() in (*EXCEL, *COLUMNAR):
        return TextFormat()
    return detect_format(path, AUTO, decimal, AUTO)


def as_written(path: Path, frame: pd.DataFrame, text_format: TextFormat) -> pd.DataFrame:
    """Return the cells of a file unchanged, so that 007, NA and leading blanks are preserved.

    Args:
        path: a file.
        frame: its rows as `read_frame` returns them.
        text_format: its format, if it is a text file.
    """
    if path.suffix.lower() in COLUMNAR:
        return frame
    if path.suffix.lower() in EXCEL:
        cells = _workbook(path, None, na_filter=False).set_axis(frame.columns, axis=1)
        dates = frame.select_dtypes("datetime")
        return cells.assign(**{str(name): dates[name] for name in dates})
    try:
        cells = _rows(path, text_format, frame.shape[1], str, exact=True)
    except ValueError:  # a blank before a quotation mark
        cells = frame.head(0)
    if cells.shape != frame.shape:
        cells = _rows(path, text_format, frame.shape[1], str)
    return cells.set_axis(frame.columns, axis=1)


def _check_name(path: Path) -> None:
    if ":/" in str(path):
        raise UserError(
            f"dataset.path must be a local file, not the URL {path}; download it first.",
            setting="dataset.path",
            code="url",
        )
    if path.suffix.lower() == ".xls":
        raise invalid(
            "path",
            "old_workbook",
            f"{path} is in the Excel 97-2003 format; save it as .xlsx or .csv.",
        )
    if path.exists() and not path.is_file() and not path.is_dir():
        raise invalid(
            "path",
            "not_a_regular_file",
            f"{path} is a device or a pipe, but the table is read more than once; "
            "save it to a file first.",
        )


def _text(path: Path, separator: str, decimal: str, encoding: str) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    text_format = detect_format(path, separator, decimal, encoding)
    with open_text(path, text_format.encoding) as file:
        names = split_cells([_first_line(file)], text_format.separator)[0]
    # With a thousands separator pandas would remove the points of 02.01.2024 too.
    text = _not_grouped(path, text_format, len(names)) if text_format.thousands else []
    frame = _rows(path, text_format, len(names), dict.fromkeys(text, str))
    _check_names(path, names)
    if frame.shape[1] != len(names):
        raise invalid(
            "separator",
            None,
            f"{path} has {len(names)} columns in its first line and "
            f"{frame.shape[1]} below ({text_format}); if this format is wrong, set "
            "dataset.separator.",
        )
    frame.columns = pd.Index(names)
    detected = AUTO in (separator, decimal, encoding) and text_format != TextFormat()
    return frame, str(text_format) if detected else ""


def _rows(
    path: Path, text_format: TextFormat, columns: int, dtype: Any, exact: bool = False
) -> pd.DataFrame:
    """Read the rows below the header, with column numbers as names.

    Args:
        path: the file.
        text_format: its format.
        columns: the number of columns if it has no rows.
        dtype: of the columns.
        exact: whether to preserve leading blanks and texts that mean a missing value.
    """
    import pandas as pd

    with open_text(path, text_format.encoding) as file:
        _first_line(file)
        try:
            return pd.read_csv(
                file, header=None, sep=SEPARATORS[text_format.separator],
                decimal=text_format.decimal, thousands=text_format.thousands,
                na_values=MISSING, keep_default_na=False, na_filter=not exact,
                skipinitialspace=not exact, low_memory=False, dtype=dtype,
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            return pd.DataFrame(columns=range(columns))


def _first_line(file: IO[str]) -> str:
    return next(line for line in file if line.strip().lstrip("\ufeff")).lstrip("\ufeff")


def _not_grouped(path: Path, text_format: TextFormat, columns: int) -> list[Any]:
    """Return the columns with points or commas that are not thousands separators."""
    mark = str(text_format.thousands)

    def wrong(cell: object) -> bool:
        text = str(cell).strip()
        return mark in text and not GROUPED_NUMBER[mark].fullmatch(text)

    cells = _rows(path, text_format, columns, str)
    return [name for name, column in cells.items() if column.dropna().map(wrong).any()]


def _workbook(path: Path, sheet: str | None, na_filter: bool = True) -> pd.DataFrame:
    import pandas as pd

    check_archive(path)
    try:
        opened = pd.ExcelFile(path, engine="openpyxl")
    except KeyError:  # an archive without sheets
        raise invalid("path", "invalid_table", f"{path} is not an Excel workbook.") from None
    with opened as book:
        if sheet is not None and sheet not in book.sheet_names:
            names = ", ".join(map(str, book.sheet_names))
            raise invalid("sheet", None, f"{path} has no sheet {sheet!r} (available: {names}).")
        return pd.read_excel(
            book, sheet or 0, na_values=MISSING, keep_default_na=False, na_filter=na_filter
        )


def _columnar(path: Path, kind: str) -> pd.DataFrame:
    import pandas as pd

    if kind in (".parquet", ".pq"):
        from pyarrow.parquet import read_metadata

        shape = read_metadata(path)
        check_size(8 * shape.num_rows * shape.num_columns)
    read: Callable[[Path], Any] = (
        pd.read_feather if kind in (".feather", ".arrow") else pd.read_parquet
    )
    return _named(path, read(path))


def _named(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Check and set the column names, and drop row labels."""
    names = [str(name).strip() for name in frame.columns]
    names = ["" if re.fullmatch(r"Unnamed: \d+", name) else name for name in names]
    _check_names(path, names)
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def _check_names(path: Path, names: Sequence[str]) -> None:
    if "" in names:
        raise invalid(
            "path",
            "unnamed_column",
            f"column {names.index('') + 1} of {path} has no name; name it, or remove "
            "it if it only numbers the rows.",
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise invalid(
            "path",
            "duplicate_column",
            f"{path} has more than one column {repeated[0]!r}; column names must be unique.",
        )


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
