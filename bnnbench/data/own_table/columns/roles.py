"""The roles of a file's columns: inputs, target, and columns that define the splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.read.names import header_hint
from bnnbench.data.own_table.read.table_file import COLUMNAR
from bnnbench.near_names import with_known


@dataclass(frozen=True)
class ColumnRoles:
    """Columns by role; the fields have the names of the settings.

    Attributes:
        target: the column to predict.
        columns: the inputs; None means all other columns.
        drop: the columns to exclude.
        split_by: maps `group`, `time` or `test` to its columns; only `time` may have several.
        time_input: whether those of `time` are also inputs, unless `columns` leaves them out.
    """

    target: str
    columns: Sequence[str] | None
    drop: Sequence[str]
    split_by: Mapping[str, Sequence[str]]
    time_input: bool = True

    @property
    def not_inputs(self) -> set[str]:
        """The columns that only define the splits."""
        time = {*self.split_by.get("time", ())} if self.time_input else set()
        return self.splitting - (time if self.columns is None else time & {*self.columns})

    @property
    def splitting(self) -> set[str]:
        """The columns that define the splits."""
        return {name for names in self.split_by.values() for name in names}

    def select(self, path: Path, names: Sequence[str]) -> list[str]:
        """Return the columns in use, in the order of the file.

        Args:
            path: the file, for messages.
            names: its columns.

        Raises:
            UserError: if a column does not exist or has two roles, or no input is left.
        """
        named = {"target": [self.target], "columns": self.columns or (), "drop": self.drop}
        for key, columns in {**named, **self.split_by}.items():
            for name in (str(column) for column in columns if str(column) not in names):
                without_names = "" if path.suffix.lower() in COLUMNAR else header_hint(names)
                hint = f"; {without_names}" if without_names else ""
                raise invalid(
                    key, "unknown_column", f"{path} has no column {with_known(name, names)}{hint}."
                )
        by = self.splitting
        for key, columns in {"target": [self.target], **self.split_by}.items():
            for name in (name for name in columns if name in self.drop):
                advice = "; set dataset.time_input=false" if key == "time" else ""
                raise invalid(
                    "drop",
                    "column_in_use",
                    f"{name!r} is the {key} column and cannot be dropped{advice}.",
                )
        if self.target in by:
            raise invalid(
                "target",
                "split_column",
                f"column {self.target!r} cannot be both the target and the split column.",
            )
        candidates = names if self.columns is None else self.columns
        inputs = {*candidates} - {self.target, *self.drop} - self.not_inputs
        if not inputs:
            raise invalid(
                "path",
                "no_inputs",
                f"{path} has no input column besides the target {self.target!r}; "
                "add input columns.",
            )
        return [name for name in names if name in {*inputs, self.target, *by}]
