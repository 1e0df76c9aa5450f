"""The user's own table as a data set: which columns, which rows, which splits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bnnbench.checks import check_choice
from bnnbench.data.own_table.checks import check_size, constant
from bnnbench.data.own_table.choice import Choice
from bnnbench.data.own_table.columns import NUMBER, Encoding, dates_or_numbers, encoding_of
from bnnbench.data.own_table.decisions import (
    DROP,
    IMPUTE,
    NUMBERS,
    ONEHOT,
    REFUSE,
    Policy,
    check_decided,
    check_no_words,
)
from bnnbench.data.own_table.reading import read_frame
from bnnbench.data.own_table.remarks import remarks_on
from bnnbench.data.own_table.splitting import WINDOWS, given_split, grouped_splits, timed_splits
from bnnbench.data.own_table.text_file import AUTO, SEPARATORS
from bnnbench.data.splits import check_split_settings, seeded_splits
from bnnbench.identity import no_identity
from bnnbench.types import Split, Table, UserError

if TYPE_CHECKING:
    import pandas as pd

LEAST_ROWS = 10

RANDOM_SPLITS = 20

NAMED = ("group", "time", "test")
"""Settings that name a column which says how rows are split, and is no input."""


@dataclass(frozen=True)
class OwnTable:
    """A file of columns: text (CSV and its relatives), Excel, parquet or feather.

    Every column is an input but the target and those that say how to split. Numbers are read as
    they are, true and false as 1 and 0. Inputs are standardised, and gaps filled, by what the
    training rows of a split say; which values a category has is taken from the whole file, like
    the names of its columns.

    Attributes:
        name: the label used in paths and tables; left at `csv`, the file's stem.
        path: the file; `~` is the home folder.
        target: the column to predict.
        summary: one line about the table.
        columns: the inputs to use; None is all.
        drop: columns to leave out.
        missing: what a cell without a value does: `refuse`, `drop` its row, or `impute` the mean
            of the training rows. A row without a target is dropped by both.
        categorical: what a column of words does: `refuse`, or `onehot`.
        dates: what a column of dates does: `refuse`, or `numbers`, days since 1970.
        group: a column whose equal values stay on one side of every split, and in one fold.
        time: a column that orders the rows: every split tests what came later.
        test: a column that tells the rows of the one test part.
        n_splits: how many random train/test splits; None is 20, or 5 by time.
        test_fraction: part of the rows (of the groups) held out in each.
        split_seed: fixes the splits, whatever the run's seed.
        separator: between columns, one of `SEPARATORS`, or `auto`; of text files alone.
        decimal: `.`, `,` or `auto`.
        encoding: of the file, a codec of Python, or `auto`.
        sheet: of a workbook; None is the first.
    """

    name: str = "csv"
    path: str | None = no_identity(None)
    target: str | None = None
    summary: str = no_identity("")
    columns: list[str] | None = None
    drop: list[str] | None = None
    missing: str = REFUSE
    categorical: str = REFUSE
    dates: str = REFUSE
    group: str | None = None
    time: str | None = None
    test: str | None = None
    n_splits: int | None = None
    test_fraction: float = 0.1
    split_seed: int = 0
    separator: str = no_identity(AUTO)
    decimal: str = no_identity(AUTO)
    encoding: str = no_identity(AUTO)
    sheet: str | None = no_identity(None)

    def __post_init__(self) -> None:
        if not self.path:
            raise UserError("dataset.path must name a CSV file: add dataset.path=FILE.")
        if self.target is None:
            raise UserError(
                "dataset.target must name the column to predict: add dataset.target=COLUMN."
            )
        check_choice("dataset.missing", self.missing, (REFUSE, DROP, IMPUTE))
        check_choice("dataset.categorical", self.categorical, (REFUSE, ONEHOT))
        check_choice("dataset.dates", self.dates, (REFUSE, NUMBERS))
        check_choice("dataset.separator", self.separator, (AUTO, *SEPARATORS))
        check_choice("dataset.decimal", self.decimal, (AUTO, ".", ","))
        for key in ("columns", "drop"):
            names = getattr(self, key)
            if names is not None and not isinstance(names, list | tuple):
                raise UserError(f"dataset.{key} must be a list such as [a,b], not {names!r}.")
        ways = [key for key in NAMED if getattr(self, key) is not None]
        if len(ways) > 1:
            raise UserError(
                f"dataset.{ways[0]} and dataset.{ways[1]} are two ways to split; name one."
            )
        if self.test is not None and self.n_splits not in (None, 1):
            raise UserError("dataset.n_splits: dataset.test tells one split; leave it out.")
        check_split_settings(self._count(), self.test_fraction, self.split_seed)

    def load(self) -> Table:
        """Reads and checks the file.

        Raises:
            UserError: at the first thing in the file that is not a usable table of numbers.
        """
        path, target = Path(expanduser(str(self.path))), str(self.target)
        frame, found = read_frame(path, self.separator, self.decimal, self.encoding, self.sheet)
        choice = Choice(target, self.columns, self.drop or (), self._split_by())
        frame = frame[choice.of(path, [str(name) for name in frame.columns])]
        frame, gone = self._rows(frame, target)
        if len(frame) < LEAST_ROWS:
            raise UserError(
                f"dataset.path: too few rows: {path} holds {len(frame)}{gone and ' without gaps'}, "
                f"and at least {LEAST_ROWS} are needed."
            )
        encodings = self._encodings(path, frame)
        columns = self._numbers(path, frame, encodings)
        targets = columns.pop(target)
        if constant(targets):
            raise UserError(
                f"dataset.target: column {target!r} is {targets[0]:g} in every row of {path}, "
                "so there is nothing to predict; name a column that varies."
            )
        groups = None if self.group is None else _numbered(path, frame[self.group])
        sources = {name: one.column for one in encodings for name in one.features}
        inputs, splits = np.column_stack(list(columns.values())), self._splits(path, frame, groups)
        said = [f"{path.name}: {found}"] * bool(found) + [gone] * bool(gone)
        return Table(
            name=_label(path.stem.split(".")[0] if self.name == "csv" else self.name),
            inputs=inputs,
            targets=targets,
            splits=splits,
            features=tuple(columns),
            target=target,
            groups=groups,
            encodings=tuple(encoding for encoding in encodings if encoding.column != target),
            remarks=(*said, *remarks_on([*columns], inputs, target, targets, splits, sources)),
        )

    def _split_by(self) -> dict[str, str]:
        """The setting that names a column to split by, with its name, if there is one."""
        return {key: str(getattr(self, key)) for key in NAMED if getattr(self, key) is not None}

    def _count(self) -> int:
        if self.n_splits is not None:
            return self.n_splits
        return 1 if self.test is not None else WINDOWS if self.time is not None else RANDOM_SPLITS

    def _rows(self, frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, str]:
        """The rows in use, and how many are not, in words."""
        if self.missing == REFUSE:
            return frame, ""
        needed = list(frame.columns) if self.missing == DROP else [target]
        kept = frame.dropna(subset=needed)
        if len(kept) == len(frame):
            return frame, ""
        gaps = "a gap" if self.missing == DROP else "no target"
        return kept.reset_index(drop=True), (
            f"{len(frame) - len(kept)} of {len(frame)} rows have {gaps} and are left out"
        )

    def _encodings(self, path: Path, frame: pd.DataFrame) -> list[Encoding]:
        """How inputs and target become numbers, once all is decided."""
        names = [name for name in frame.columns if name not in self._split_by().values()]
        found = [encoding_of(frame[name]) for name in names]
        of_target = next(one for one in found if one.column == self.target)
        check_no_words(path, of_target.column, frame[of_target.column], of_target)
        policy = Policy(self.missing, self.categorical, self.dates)
        check_decided(path, frame, found, policy, self.drop or ())
        return found

    def _numbers(
        self, path: Path, frame: pd.DataFrame, encodings: Sequence[Encoding]
    ) -> dict[str, np.ndarray]:
        """Inputs and target as numbers, checked."""
        columns: dict[str, np.ndarray] = {}
        for one in encodings:
            columns |= zip(one.features, one.apply(frame[one.column]), strict=True)
        for name, numbers in columns.items():
            check_size(path, name, numbers)
        return columns

    def _splits(
        self, path: Path, frame: pd.DataFrame, groups: np.ndarray | None
    ) -> tuple[Split, ...]:
        count = self._count()
        if groups is not None:
            return grouped_splits(groups, count, self.test_fraction, self.split_seed)
        if self.time is not None:
            times = dates_or_numbers(path, frame[self.time])
            return timed_splits(times, count, self.test_fraction)
        if self.test is not None:
            told = encoding_of(frame[self.test])
            if told.kind != NUMBER:
                check_decided(path, frame, [told], Policy())
            return given_split(told.apply(frame[self.test])[0])
        return seeded_splits(len(frame), count, self.test_fraction, self.split_seed)


def _numbered(path: Path, column: pd.Series) -> np.ndarray:
    """The number of each row's group, `[N]`."""
    if column.isna().any():
        raise UserError(
            f"dataset.group: column {column.name!r} of {path} has no value in data row "
            f"{int(np.flatnonzero(column.isna())[0]) + 1}."
        )
    return np.asarray(np.unique(column.astype(str).to_numpy(str), return_inverse=True)[1])


def _label(text: str) -> str:
    """`text` made fit for a folder name: no accents, runs of other characters become one hyphen."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_-]+", "-", plain).strip("-") or "csv"
