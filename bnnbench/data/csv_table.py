"""The user's own table: a comma-separated file of numbers with one header line."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.data.splits import check_split_settings, seeded_splits
from bnnbench.identity import no_identity
from bnnbench.types import Table, UserError

if TYPE_CHECKING:
    import pandas as pd

LEAST_ROWS = 10
MISSING = ["", "na", "n/a", "nan", "null", "none"]

LARGEST = 1e100
"""Of a number: float64 holds its square, those of errors many times as large, and their sums."""

FARTHEST = 1e37
"""From the middle of a column, in its typical deviations: networks see standardised float32, and
the number may be in a test part or a fold, where the others alone set the scale."""

SMALLEST = 1e-12
"""Spread of a column: what varies less is taken for constant, as rounding is."""


@dataclass(frozen=True)
class CSV:
    """One CSV file: a header line, then rows of numbers (true and false count as 1 and 0).

    Every column but the target is an input.

    Attributes:
        name: the label used in paths and tables; left at `csv`, the file's stem.
        path: the file; `~` is the home folder.
        target: the column to predict.
        summary: one line about the table.
        n_splits: how many random train/test splits.
        test_fraction: part of the rows held out in each.
        split_seed: fixes the splits, whatever the run's seed.
    """

    name: str = "csv"
    path: str | None = no_identity(None)
    target: str | None = None
    summary: str = no_identity("")
    n_splits: int = 20
    test_fraction: float = 0.1
    split_seed: int = 0

    def __post_init__(self) -> None:
        if not self.path:
            raise UserError("dataset.path must name a CSV file: add dataset.path=FILE.")
        if self.target is None:
            raise UserError(
                "dataset.target must name the column to predict: add dataset.target=COLUMN."
            )
        check_split_settings(self.n_splits, self.test_fraction, self.split_seed)

    def load(self) -> Table:
        """Reads and checks the file.

        Raises:
            UserError: at the first thing in the file that is not a usable table of numbers.
        """
        _check_file(str(self.path))
        path, target = Path(expanduser(str(self.path))), str(self.target)
        frame = _read(path)
        _check_columns(path, list(frame.columns), target)
        if len(frame) < LEAST_ROWS:
            raise UserError(
                f"dataset.path: too few rows: {path} holds {len(frame)}, and at least {LEAST_ROWS} "
                "are needed."
            )
        columns = {str(column): _numbers(path, frame[column]) for column in frame.columns}
        for name, numbers in columns.items():
            _check_size(path, name, numbers)
        targets = columns.pop(target)
        if _constant(targets):
            raise UserError(
                f"dataset.target: column {target!r} is {targets[0]:g} in every row of {path}, "
                "so there is nothing to predict; name a column that varies."
            )
        return Table(
            name=_label(path.stem if self.name == "csv" else self.name),
            inputs=np.column_stack(list(columns.values())),
            targets=targets,
            splits=seeded_splits(len(frame), self.n_splits, self.test_fraction, self.split_seed),
            features=tuple(columns),
            target=target,
        )


def _label(text: str) -> str:
    """`text` made fit for a folder name: runs of other characters become one hyphen."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-") or "csv"


def _check_file(text: str) -> None:
    """Refuses what is no file of columns between commas, as far as its name and first line tell."""
    path = Path(expanduser(text))
    if "://" in text:
        raise UserError(f"dataset.path must name a file, not the address {text}; fetch it first.")
    if path.exists() and not path.is_file() and not path.is_dir():
        raise UserError(
            f"dataset.path: {path} is a device or a pipe; a run reads its file more than once, so "
            "write the table to one."
        )
    if not path.is_file():
        return
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        line = file.readline(10_000)
        other = next((mark for mark in ";\t|" if mark in line), "")
        if other and not {",", "\0", "\ufffd"} & {*line}:  # the last two where it is no text
            raise UserError(
                f"dataset.path: {path} seems to have its columns between {other!r}; put commas "
                "there, and points before decimals."
            )


def _read(path: Path) -> pd.DataFrame:
    """The file's cells as text, under the column names as written."""
    import pandas as pd

    try:
        # Read without a header: pandas would rename the second of two equal names, and take
        # the first column for row labels where the rows are longer than the header.
        lines = pd.read_csv(path, header=None, dtype=str, na_filter=False, encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"dataset.path: there is no file {path}.") from None
    except pd.errors.EmptyDataError:
        raise UserError(f"dataset.path: {path} is empty; it must be a CSV file.") from None
    except OSError as error:
        raise UserError(f"dataset.path: cannot read {path} ({error.strerror}).") from None
    except ValueError as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UserError(f"dataset.path: {path} is not a valid CSV file ({reason}).") from None
    frame = lines.iloc[1:]
    frame.columns = pd.Index(lines.iloc[0].str.strip())
    return frame


def _check_columns(path: Path, columns: list[str], target: str) -> None:
    if "" in columns:
        raise UserError(
            f"dataset.path: column {columns.index('') + 1} of {path} has no name; name it, or drop "
            "it if it only counts the rows."
        )
    repeated = [column for column, count in Counter(columns).items() if count > 1]
    if repeated:
        raise UserError(
            f"dataset.path: {path} has more than one column {repeated[0]!r}; every column needs "
            "a name of its own."
        )
    if target not in columns:
        close = get_close_matches(target, columns, n=1)
        hint = f", of which {close[0]!r} is the closest" if close else ""
        if all(re.fullmatch(r"[-+.\deE]+", column) for column in columns):
            hint = "; the first line must name them"
        raise UserError(
            f"dataset.target: {path} has no column {target!r}; its columns are "
            f"{', '.join(columns)}{hint}."
        )
    if len(columns) == 1:
        raise UserError(
            f"dataset.path: {path} has no column besides the target {target!r} to learn from; "
            "add input columns."
        )


def _numbers(path: Path, column: pd.Series) -> np.ndarray:
    """One column as finite float64 `[N]`; rows are counted from 1 below the header."""
    import pandas as pd

    cells = column.str.strip().str.lower()
    if cells.isin(["true", "false"]).all():
        return (cells == "true").to_numpy(np.float64)
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64)
    text = np.flatnonzero(np.isnan(numbers) & ~cells.isin(MISSING).to_numpy())
    if text.size:
        raise UserError(
            f"dataset.path: column {column.name!r} of {path} holds the text "
            f"{column.iloc[text[0]]!r} in data row {text[0] + 1}; every cell must be a number."
        )
    unusable = np.flatnonzero(~np.isfinite(numbers))
    if unusable.size:
        raise UserError(
            f"dataset.path: column {column.name!r} of {path} is empty, NaN or infinite in "
            f"{unusable.size} of {len(numbers)} rows, first in data row {unusable[0] + 1}; fill "
            "or drop them."
        )
    return numbers


def _constant(numbers: np.ndarray) -> bool:
    """Whether they differ by no more than rounding."""
    return bool(np.ptp(numbers) <= SMALLEST * np.abs(numbers).max())


def _check_size(path: Path, name: str, numbers: np.ndarray) -> None:
    """Refuses numbers that cannot be standardised, squared and averaged.

    Raises:
        UserError: naming the column.
    """
    column = f"dataset.path: column {name!r} of {path}"
    row = int(np.abs(numbers).argmax())
    if abs(numbers[row]) > LARGEST:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, whose square is too large for "
            f"a computer's numbers (at most {LARGEST:g}); give it in another unit, or its "
            "logarithm."
        )
    distances = np.abs(numbers - np.median(numbers))
    row, typical = int(distances.argmax()), np.median(distances) or 1.0
    if distances[row] > FARTHEST * typical:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, more than {FARTHEST:g} times "
            "as far from the others as they are from each other; correct or drop that row, or "
            "give the column's logarithm."
        )
    if not _constant(numbers) and np.ptp(numbers) <= SMALLEST:
        raise UserError(
            f"{column} varies by {np.ptp(numbers):.3g} only, which would be taken for rounding "
            f"(up to {SMALLEST:g}); give it in another unit."
        )
