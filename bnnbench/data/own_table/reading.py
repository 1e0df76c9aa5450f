"""From a file, whatever its kind, to a frame: named columns, cells as the file has them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bnnbench.data.own_table.text_file import (
    AUTO,
    SEPARATORS,
    WITH_POINTS,
    Writing,
    cells_of,
    opened,
    writing_of,
)
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

MISSING = ["", "na", "NA", "n/a", "N/A", "nan", "NaN", "NAN", "null", "NULL", "none", "None"]
"""What stands for a cell without a value."""

EXCEL, COLUMNAR = (".xlsx", ".xlsm"), (".parquet", ".pq", ".feather", ".arrow")

EXTRA = "bnnbench[tables]"
"""What to install for files that are no text."""


def read_frame(
    path: Path, separator: str, decimal: str, encoding: str, sheet: str | None
) -> tuple[pd.DataFrame, str]:
    """Reads a file.

    Args:
        path: to a text file (`.csv`, `.tsv`, anything else, compressed or not), an Excel workbook,
            or a parquet or feather file.
        separator: of a text file's columns, one of `text_file.SEPARATORS`, or `auto`.
        decimal: of a text file's numbers, `.`, `,` or `auto`.
        encoding: of a text file, or `auto`.
        sheet: of a workbook; None is the first.

    Returns:
        The frame, and what was found out about how a text file is written, in words; empty where
        nothing had to be.

    Raises:
        UserError: if there is no such file, or it holds no table.
    """
    _check_name(path)
    kind = path.suffix.lower()
    try:
        if kind in EXCEL:
            return _named(path, _workbook(path, sheet)), ""
        if kind in COLUMNAR:
            return _columnar(path, kind), ""
        return _text(path, separator, decimal, encoding)
    except FileNotFoundError:
        raise UserError(f"dataset.path: there is no file {path}.") from None
    except ImportError as error:
        raise UserError(
            f"dataset.path: {path} needs {error.name or 'a library'} to be read; "
            f"`pip install '{EXTRA}'` brings it."
        ) from None
    except (LookupError, UnicodeError) as error:
        raise UserError(
            f"dataset.path: {path} cannot be read ({_reason(error)}); dataset.encoding says how "
            "it is written."
        ) from None
    except OSError as error:
        raise UserError(
            f"dataset.path: cannot read {path} ({error.strerror or _reason(error)})."
        ) from None
    except ValueError as error:
        raise UserError(f"dataset.path: {path} is not a valid table ({_reason(error)}).") from None


def writing_like(path: Path) -> Writing:
    """How to write what belongs to a file that has been read: as it is, where it is text."""
    if path.suffix.lower() in (*EXCEL, *COLUMNAR):
        return Writing()
    return writing_of(path, AUTO, AUTO, AUTO)


def as_written(path: Path, frame: pd.DataFrame, writing: Writing) -> pd.DataFrame:
    """The cells of a file that has been read, as text where it is text: a key 007 stays one."""
    if path.suffix.lower() in (*EXCEL, *COLUMNAR):
        return frame
    cells = _rows(path, writing, frame.shape[1], str)
    return cells.set_axis(frame.columns, axis=1)


def _check_name(path: Path) -> None:
    if ":/" in str(path):
        raise UserError(f"dataset.path must name a file, not the address {path}; fetch it first.")
    if path.suffix.lower() == ".xls":
        raise UserError(
            f"dataset.path: {path} is a workbook of before 2007; save it as .xlsx or .csv."
        )
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UserError(
            f"dataset.path: {path} is a device or a pipe; a run reads its file more than once, so "
            "write the table to one."
        )


def _text(path: Path, separator: str, decimal: str, encoding: str) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    writing = writing_of(path, separator, decimal, encoding)
    with opened(path, writing.encoding) as file:
        names = cells_of([_first_line(file)], writing.separator)[0]
    # Where points stand between thousands pandas takes them out of 02.01.2024 as well.
    text = _not_grouped(_rows(path, writing, len(names), str)) if writing.thousands else []
    frame = _rows(path, writing, len(names), dict.fromkeys(text, str))
    _check_names(path, names)
    if frame.shape[1] != len(names):
        raise UserError(
            f"dataset.path: {path} names {len(names)} columns in its first line and has "
            f"{frame.shape[1]} in those below ({writing}); if that is not how it is written, say "
            "so by dataset.separator."
        )
    frame.columns = pd.Index(names)
    found = "" if writing == Writing() or _told(separator, decimal, encoding) else str(writing)
    return frame, found


def _rows(path: Path, writing: Writing, columns: int, dtype: Any) -> pd.DataFrame:
    """What is below the names, columns by number."""
    import pandas as pd

    with opened(path, writing.encoding) as file:
        _first_line(file)
        try:
            return pd.read_csv(
                file, header=None, sep=SEPARATORS[writing.separator], decimal=writing.decimal,
                thousands=writing.thousands, na_values=MISSING, keep_default_na=False,
                skipinitialspace=True, low_memory=False, dtype=dtype,
            )  # fmt: skip
        except pd.errors.EmptyDataError:
            return pd.DataFrame(columns=range(columns))


def _first_line(file: IO[str]) -> str:
    return next(line for line in file if line.strip().lstrip("\ufeff")).lstrip("\ufeff")


def _not_grouped(words: pd.DataFrame) -> list[Any]:
    """Columns with a cell whose points are not those between thousands."""

    def wrong(cell: object) -> bool:
        text = str(cell).strip()
        return "." in text and not WITH_POINTS.fullmatch(text)

    return [name for name, cells in words.items() if cells.dropna().map(wrong).any()]


def _told(*settings: str) -> bool:
    """Whether nothing was left to be found out."""
    return "auto" not in settings


def _workbook(path: Path, sheet: str | None) -> pd.DataFrame:
    import pandas as pd

    with pd.ExcelFile(path, engine="openpyxl") as book:
        if sheet is not None and sheet not in book.sheet_names:
            names = ", ".join(map(str, book.sheet_names))
            raise UserError(f"dataset.sheet: {path} has no sheet {sheet!r}, but {names}.")
        return pd.read_excel(book, sheet or 0, na_values=MISSING, keep_default_na=False)


def _columnar(path: Path, kind: str) -> pd.DataFrame:
    import pandas as pd

    read: Callable[[Path], Any] = (
        pd.read_feather if kind in (".feather", ".arrow") else pd.read_parquet
    )
    return _named(path, read(path))


def _named(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """With checked names and without the row labels that a file may keep."""
    names = [str(name).strip() for name in frame.columns]
    names = ["" if re.fullmatch(r"Unnamed: \d+", name) else name for name in names]
    _check_names(path, names)
    return frame.set_axis(names, axis=1).reset_index(drop=True)


def _check_names(path: Path, names: Sequence[str]) -> None:
    if "" in names:
        raise UserError(
            f"dataset.path: column {names.index('') + 1} of {path} has no name; name it, or drop "
            "it if it only counts the rows."
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise UserError(
            f"dataset.path: {path} has more than one column {repeated[0]!r}; every column needs "
            "a name of its own."
        )


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()).rstrip(".")
