"""The user's own table as a data source."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from bnnbench.constraints import Checked, OneOf, Seed
from bnnbench.data.checks import check_numbers, check_positive, is_constant
from bnnbench.data.errors import invalid
from bnnbench.data.own_table.cells.numbers import unit_notes
from bnnbench.data.own_table.columns.advice import about_columns, table_warnings
from bnnbench.data.own_table.columns.encoding import (
    DATES,
    NUMBER,
    Encoding,
    as_strings,
    infer_encoding,
    times_of_rows,
)
from bnnbench.data.own_table.columns.issues import (
    DROP,
    IMPUTE,
    NUMBERS,
    ONEHOT,
    REFUSE,
    Policy,
    check_columns,
    check_last_rows,
    check_numeric_target,
)
from bnnbench.data.own_table.columns.roles import ColumnRoles
from bnnbench.data.own_table.columns.row_labels import chronological_columns
from bnnbench.data.own_table.read.file_kinds import UNSUPPORTED_FORMAT, WRONG_EXTENSION
from bnnbench.data.own_table.read.names import clean_name
from bnnbench.data.own_table.read.sizes import NUMBER_BYTES
from bnnbench.data.own_table.read.table_file import encoding_hint, read_frame
from bnnbench.data.own_table.read.text_file import AUTO, SEPARATORS, ReadingSettings
from bnnbench.data.own_table.splitting import (
    DEFAULT_WINDOWS,
    grouped_splits,
    split_from_column,
    time_splits,
)
from bnnbench.data.splits import NumberOfSplits, TestFraction, seeded_splits
from bnnbench.files import check_size, user_path
from bnnbench.identity import no_identity, optional_identity
from bnnbench.types import Split, Table, UserError

if TYPE_CHECKING:
    import pandas as pd

MIN_ROWS = 10

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
"""Extensions of text files in an archive, which are not part of the data set's name."""

DEFAULT_RANDOM_SPLITS = 20

SPLIT_COLUMN_SETTINGS = ("group", "time", "test")
"""Settings that name what defines the splits: one column, or several for `time`, which can be
inputs."""


@dataclass(frozen=True)
class OwnTable(Checked):
    """A table in a text (CSV and similar), Excel, parquet or feather file.

    All columns are inputs except the target and the columns that define the splits. Numbers are
    read as they are, true and false as 1 and 0. Standardisation and imputation use the training
    rows of a split only; the categories of a column are taken from the whole file.

    Attributes:
        name: the label used in paths and tables; `csv` stands for the stem of the file name.
        path: the file; `~` is the home folder.
        target: the column to predict.
        columns: the inputs to use; None means all.
        drop: the columns to exclude.
        missing: how to treat missing values: `refuse`, `drop` the row, or `impute` the mean of the
            training rows. Both `drop` and `impute` drop rows without a target.
        categorical: how to treat text columns: `refuse` or `onehot`.
        dates: how to treat date columns: `refuse` or `numbers`, days since 1970.
        group: a column; rows with the same value stay on one side of every split and in one fold.
        time: a column that orders the rows, or a list of columns such as [year,month]; the test
            rows of every split follow its training rows.
        time_input: whether these columns are also inputs, as numbers: of days, if they hold dates.
        test: a column that marks the test rows of a single split.
        n_splits: number of train/test splits; None means 20, or 5 with `time`.
        test_fraction: fraction of the rows (or groups) in each test part.
        split_seed: seed of the splits, independent of the run's seed.
        separator: column separator of text files, one of `SEPARATORS` or `auto`.
        decimal: decimal mark of text files: `.`, `,` or `auto`.
        encoding: encoding of text files, a Python codec or `auto`.
        sheet: the sheet of a workbook; None means the first.
        header: whether the file has the names of the columns, or the number of the line (or of the
            row in a sheet) that has them; if not, they are `column_1`, `column_2`, ...
        missing_values: numbers and strings that mean a missing value, besides the usual ones.
        log_target: whether to fit the logarithm of a positive target. All scores, intervals and
            predictions are those of the target; precisions in original units are those of the
            logarithm.
    """

    identity_name = "bnnbench.data.own_table.source.OwnTable"
    name: str = "csv"
    path: str | None = no_identity(None)
    target: str | None = None
    columns: list[str] | None = None
    drop: list[str] | None = None
    missing: Annotated[str, OneOf(REFUSE, DROP, IMPUTE)] = REFUSE
    categorical: Annotated[str, OneOf(REFUSE, ONEHOT)] = REFUSE
    dates: Annotated[str, OneOf(REFUSE, NUMBERS)] = REFUSE
    group: str | None = None
    time: str | list[str] | None = None
    time_input: bool = no_identity(True)
    test: str | None = None
    n_splits: NumberOfSplits | None = None
    test_fraction: TestFraction = 0.1
    split_seed: Seed = 0
    separator: Annotated[str, OneOf(AUTO, *SEPARATORS)] = no_identity(AUTO)
    decimal: Annotated[str, OneOf(AUTO, ".", ",")] = no_identity(AUTO)
    encoding: str = no_identity(AUTO)
    sheet: str | None = no_identity(None)
    header: bool | int = no_identity(True)
    missing_values: list[str | float] | None = no_identity(None)
    log_target: bool = optional_identity(False)
    key: ClassVar[str] = "dataset"

    def check(self) -> None:
        if not self.path:
            raise UserError(
                "dataset.path must name a file; add dataset.path=FILE.", setting="dataset.path"
            )
        if self.target is None:
            raise UserError(
                "dataset.target must name the column to predict; add dataset.target=COLUMN.",
                setting="dataset.target",
            )
        for key in ("columns", "drop", "missing_values"):
            given = getattr(self, key)
            if given is not None and not isinstance(given, list | tuple):
                raise UserError(
                    f"dataset.{key} must be a list such as [a,b], not {given!r}.",
                    setting=f"dataset.{key}",
                )
        time = self.split_by.get("time")
        if time is not None and (not time or len({*time}) < len(time)):
            raise invalid("time", None, f"{self.time} must name one or more different columns.")
        if not isinstance(self.header, bool) and (type(self.header) is not int or self.header < 1):
            line = "the number of the line with the names"
            raise invalid("header", None, f"{self.header!r} must be true, false or {line}.")
        for value in self.missing_values or ():
            if type(value) not in (int, float, str):
                raise invalid("missing_values", None, f"{value!r} must be a number or text.")
        split_by = [*self.split_by]
        if len(split_by) > 1:
            raise UserError(
                f"dataset.{split_by[0]} and dataset.{split_by[1]} cannot be combined; set only one "
                "of them.",
                setting=f"dataset.{split_by[0]}",
                code="two_split_columns",
            )
        if self.test is not None and self.n_splits not in (None, 1):
            raise invalid(
                "n_splits",
                "single_split",
                "dataset.test defines a single split; remove dataset.n_splits.",
            )

    def load(self) -> Table:
        """Read and check the file.

        Raises:
            UserError: if the file is not a usable table of numbers.
        """
        path = user_path("dataset.path", str(self.path))
        try:
            return self._with_clean_names()._load(path)
        except UserError as error:
            hint = encoding_hint(path, self.encoding)
            other_file = error.code in (UNSUPPORTED_FORMAT, WRONG_EXTENSION)
            if not hint or other_file or error.setting == "dataset.encoding":
                raise
            text = f"{str(error).removesuffix('.')} ({hint})."
            raise UserError(text, error.setting, error.code) from None

    @property
    def reading(self) -> ReadingSettings:
        """How the file is read."""
        codes = tuple(map(str, self.missing_values or ()))
        format_of_text = self.separator, self.decimal, self.encoding
        return ReadingSettings(*format_of_text, self.sheet, self.header, codes)

    def _with_clean_names(self) -> OwnTable:
        """Write the names of columns as the reader does."""
        clean: dict[str, Any] = {}
        for key in ("target", "columns", "drop", *SPLIT_COLUMN_SETTINGS):
            given = getattr(self, key)
            if given is not None:
                several = isinstance(given, list | tuple)
                clean[key] = [*map(clean_name, given)] if several else clean_name(given)
        return replace(self, **clean)

    def _load(self, path: Path) -> Table:
        frame, notes = read_frame(path, self.reading)
        target, n_rows = str(self.target), len(frame)
        roles = self._roles()
        frame = frame[roles.select(path, [str(name) for name in frame.columns])]
        frame, dropped = self._rows(frame, target)
        rows_in_file, frame = 1 + frame.index.to_numpy(), frame.reset_index(drop=True)
        if len(frame) < MIN_ROWS:
            raise invalid(
                "path",
                "too_few_rows",
                f"{path} has too few rows{dropped and ' without missing values'}: "
                f"{len(frame)}, and at least {MIN_ROWS} are needed.",
            )
        encodings = self._encodings(path, frame, roles.not_inputs)
        features = sum(len(one.features) for one in encodings)
        check_size(NUMBER_BYTES * len(frame) * features, path)
        columns = self._numbers(path, frame, encodings)
        targets = columns.pop(target)
        if self.log_target:
            where = f"column {target!r} of {path}"
            check_positive(where, targets, rows_in_file, "dataset.log_target")
        groups = None if self.group is None else _numbered(path, frame[self.group])
        dates = {one.column for one in encodings if one.kind == DATES}
        sources = {name: one.column for one in encodings for name in one.features}
        inputs, splits = np.column_stack(list(columns.values())), self._splits(path, frame, groups)
        policy = self._policy()
        if not self.split_by:
            policy = replace(policy, time=chronological_columns(columns, dates))
        read = [(e.column, e.unit, frame[e.column]) for e in encodings if e.kind == NUMBER]
        notes = "; ".join([*filter(None, [notes]), *unit_notes(read)])
        about_file = [f"{path.name}: {notes}"] * bool(notes) + [dropped] * bool(dropped)
        return Table(
            name=_label(_stem(path) if self.name == "csv" else self.name),
            inputs=inputs,
            targets=targets,
            splits=splits,
            features=tuple(columns),
            target=target,
            groups=groups,
            encodings=tuple(encoding for encoding in encodings if encoding.column != target),
            file="/".join(path.absolute().parts[-2:]),
            warnings=(
                *about_file,
                *about_columns(columns, sources, dates, target, targets, n_rows, policy),
                *table_warnings([*columns], inputs, target, targets, splits, self.log_target),
            ),
            log_target=self.log_target,
        )

    def _roles(self) -> ColumnRoles:
        target, drop = str(self.target), self.drop or ()
        return ColumnRoles(target, self.columns, drop, self.split_by, self.time_input)

    @property
    def split_by(self) -> dict[str, tuple[str, ...]]:
        """The setting that names split columns, if any, and the columns, as the reader does."""
        given = {key: getattr(self, key) for key in SPLIT_COLUMN_SETTINGS}
        return {
            key: (*map(clean_name, value if isinstance(value, list | tuple) else [value]),)
            for key, value in given.items()
            if value is not None
        }

    def _policy(self) -> Policy:
        return Policy(
            self.missing,
            self.categorical,
            self.dates,
            tuple(self.drop or ()),
            tuple(map(str, self.missing_values or ())),
            split_by=bool(self.split_by),
            time=self.split_by.get("time", ()),
        )

    def _count(self) -> int:
        if self.n_splits is not None:
            return self.n_splits
        if self.test is not None:
            return 1
        return DEFAULT_RANDOM_SPLITS if self.time is None else DEFAULT_WINDOWS

    def _rows(self, frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, str]:
        """Return the rows in use and a sentence about dropped rows, which may be empty."""
        if self.missing == REFUSE:
            return frame, ""
        needed = list(frame.columns) if self.missing == DROP else [target]
        complete = frame.dropna(subset=needed)
        if len(complete) == len(frame):
            return frame, ""
        gaps = "missing values" if self.missing == DROP else "no target"
        return complete, (
            f"dropped {len(frame) - len(complete)} of {len(frame)} rows, which have {gaps}"
        )

    def _encodings(
        self, path: Path, frame: pd.DataFrame, not_inputs: Collection[str]
    ) -> list[Encoding]:
        """Return the encodings of inputs and target; a date that orders the rows is a number.

        Raises:
            UserError: if a column cannot be used as it is.
        """
        names = [name for name in frame.columns if name not in not_inputs]
        # Dates and marks that define the splits may be text in a typed frame.
        by = self._roles().splitting
        encodings = [
            infer_encoding(frame[name].astype(object) if name in by else frame[name])
            for name in names
        ]
        policy = self._policy()
        check_last_rows(path, frame)
        of_target = next(one for one in encodings if one.column == self.target)
        check_numeric_target(path, frame[of_target.column], of_target, policy)
        check_columns(path, frame, [e for e in encodings if e.column not in policy.time], policy)
        return encodings

    def _numbers(
        self, path: Path, frame: pd.DataFrame, encodings: Sequence[Encoding]
    ) -> dict[str, np.ndarray]:
        """Return inputs and target as checked numbers."""
        columns: dict[str, np.ndarray] = {}
        for one in encodings:
            columns |= zip(one.features, one.apply(frame[one.column]), strict=True)
        for name, numbers in columns.items():
            if name == self.target and is_constant(numbers):
                problem = f"column {name!r} is {numbers[0]:g} in every row of {path}; "
                raise invalid("target", "constant", f"{problem}choose a column that varies.")
            where = f"dataset.path: column {name!r} of {path}"
            check_numbers(where, numbers, "dataset.path")
        return columns

    def _splits(
        self, path: Path, frame: pd.DataFrame, groups: np.ndarray | None
    ) -> tuple[Split, ...]:
        count = self._count()
        if groups is not None:
            return grouped_splits(groups, count, self.test_fraction, self.split_seed)
        if time := self.split_by.get("time"):
            times = times_of_rows(path, [frame[name] for name in time])
            return time_splits(times, count, self.test_fraction)
        if self.test is not None:
            marks = infer_encoding(frame[self.test].astype(object))
            if marks.kind != NUMBER:
                check_columns(path, frame, [marks], Policy())
            return split_from_column(marks.apply(frame[self.test])[0])
        return seeded_splits(len(frame), count, self.test_fraction, self.split_seed)


def _numbered(path: Path, column: pd.Series) -> np.ndarray:
    """Return the group index of each row, `[N]`."""
    import pandas as pd

    if column.isna().any():
        raise invalid(
            "group",
            "missing_value",
            f"column {column.name!r} of {path} has no value in data row "
            f"{int(np.flatnonzero(column.isna())[0]) + 1}.",
        )
    return np.asarray(pd.factorize(as_strings(column), sort=True)[0])


def _stem(path: Path) -> str:
    """Return `flow.v1` of `flow.v1.csv`, and of `flow.v1.csv.zip`."""
    inner = Path(path.stem)
    return inner.stem if inner.suffix.lower() in TEXT_SUFFIXES else path.stem


def _label(text: str) -> str:
    """Convert `text` to a folder name of at most 50 characters: no accents, hyphens for others."""
    letters = (c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    plain = unicodedata.normalize("NFC", "".join(letters))
    return re.sub(r"[^\w-]+", "-", plain)[:50].strip("-") or "csv"
