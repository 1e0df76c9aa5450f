"""Read the files of a run. Whoever sent the run may have written anything into them.

A finished run and its units have the same readers, which check the type of all that they return.
Checksums detect accidents only: the sender of a run can write those too.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench import files
from bnnbench.files import READ_ERRORS, RefusedFile, check_size, read_bytes
from bnnbench.notes import one_line
from bnnbench.types import UserError

COUNTERS = frozenset({"split", "training_rows", "test_rows", "diverged", "row", "fold", "epoch",
                      "iteration", "repetition", "step"})  # fmt: skip
"""Columns that contain integers from 0 on, in all tables and arrays."""

MAX_INTEGER = 2**63
"""Integers of tables have 64 bits."""

BYTES_PER_CELL = 16
"""Bytes counted for a cell of a table; short rows are padded."""

MAX_DEPTH = 50
"""Maximum depth of nested lists and mappings."""


UNREADABLE = "unreadable"
"""Code of the error for an intact file that is too large, or that this user may not read."""


class DamagedRun(UserError):
    """A file of a finished run is damaged, or cannot be read.

    Attributes:
        root: folder of the run.
    """

    root: Path = Path()


def damaged_file_error(path: Path, problem: str = "is damaged") -> DamagedRun:
    """Return the error for a damaged file of a finished run."""
    error = DamagedRun(
        f"{path} {problem} although the run is marked DONE; run the same experiment again to "
        "rewrite it.",
        setting=path.name,
        code="damaged",
    )
    error.root = path.parent
    return error


def unusable_run_error(root: Path, error: Exception) -> DamagedRun:
    """Return the error for a run whose files can be read, but contradict each other."""
    reason = one_line(f"{type(error).__name__}: {error}")[:200]
    found = DamagedRun(
        f"the files of {root} are inconsistent ({reason}); run the same experiment again with "
        "resume=false.",
        setting=root.name,
        code="unusable",
    )
    found.root = root
    return found


@contextmanager
def reading(path: Path, problem: str = "is damaged") -> Iterator[None]:
    """Turn the errors of reading a file of a run into a `DamagedRun`.

    A file that exceeds the limit of sizes, or that the user may not read, is not called damaged.
    """
    try:
        yield
    except UserError:
        raise
    except (RefusedFile, PermissionError) as error:
        found = DamagedRun(f"{path} cannot be read: {error.strerror}.", path.name, UNREADABLE)
        found.root = path.parent
        raise found from None
    except READ_ERRORS:
        raise damaged_file_error(path, problem) from None


def read_json(path: Path, finite: bool = True) -> Any:
    """Read a JSON file of Unicode strings, integers of 64 bits and numbers.

    Args:
        path: the file.
        finite: whether NaN and infinity are errors.

    Raises:
        Exception: one of `READ_ERRORS`, if the file is missing or damaged.
    """
    parse = _finite if finite else float
    text = read_bytes(path).decode()
    content = json.loads(text, parse_int=_integer, parse_float=parse, parse_constant=parse)
    json.dumps(content, ensure_ascii=False).encode()  # raises for half a surrogate pair
    _check_depth(content, MAX_DEPTH)
    return content


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _integer(text: str) -> int:
    value = int(text)
    if not -MAX_INTEGER <= value < MAX_INTEGER:
        raise ValueError(text)
    return value


def _check_depth(content: Any, depth: int) -> None:
    """Raise `ValueError` if lists and mappings are nested more deeply."""
    if isinstance(content, list | dict):
        if not depth:
            raise ValueError
        for value in content.values() if isinstance(content, dict) else content:
            _check_depth(value, depth - 1)


def is_plain(value: Any) -> bool:
    """Return whether a value of a JSON file is a string, a number, a truth value or null."""
    return value is None or isinstance(value, str | int | float)


def read_table(
    path: Path,
    numeric: Iterable[str],
    text: Iterable[str] = (),
    problem: str = "is damaged",
    optional: bool = False,
) -> pd.DataFrame:
    """Read a CSV file that has rows and these columns.

    Args:
        path: the file.
        numeric: columns with numbers; those of `COUNTERS` contain integers.
        text: columns with text, in which pandas would read the word "None" as missing.
        problem: of a file without them, for the message.
        optional: whether a missing or empty file gives an empty table.

    Raises:
        DamagedRun: if it is no such table.
    """
    with reading(path, problem):
        try:
            content = read_bytes(path)
            columns = content.partition(b"\n")[0].count(b",") + 1
            check_size(BYTES_PER_CELL * columns * content.count(b"\n"), path)
            table = pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(text, object)).rename(
                columns=one_line
            )
        except (FileNotFoundError, pd.errors.EmptyDataError):
            if not optional:
                raise
            return pd.DataFrame(columns=[*text, *numeric])
        labelled = not isinstance(table.index, pd.RangeIndex)  # a row is longer than the header
        if table.empty or labelled or not {*text} <= {*table}:
            raise ValueError
        check_numeric(table, numeric)
    return table


def check_numeric(table: Mapping[Any, Any], columns: Iterable[str]) -> None:
    """Check columns of numbers.

    Args:
        table: arrays or series by name.
        columns: names of those to check; `KeyError` if one is missing.

    Raises:
        ValueError: if one does not consist of numbers, or is one of `COUNTERS` and does not
            consist of integers from 0 on.
    """
    for name in columns:
        column = np.asarray(table[name])
        if not _is_numeric(column.dtype):
            raise ValueError(name)
        if (
            name in COUNTERS
            and not ((column >= 0) & (column < 2**53) & (np.floor(column) == column)).all()
        ):
            raise ValueError(name)


def _is_numeric(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iuf" and dtype.itemsize <= 8


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of numbers in an NPZ file.

    Raises:
        DamagedRun: if the file is missing or damaged.
    """
    with reading(path):
        arrays = files.read_arrays(path)
        if not arrays or not all(name and name.isprintable() for name in arrays):
            raise ValueError
        for name, array in arrays.items():
            if not _is_numeric(array.dtype):
                raise ValueError(name)
        return arrays
