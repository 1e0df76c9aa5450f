"""Which columns of a file are inputs, which is the target and which say how to split."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from bnnbench.types import UserError


@dataclass(frozen=True)
class Choice:
    """Columns by their use; the fields have the names of the settings.

    Attributes:
        target: what to predict.
        columns: the inputs; None is all that are left.
        drop: what to leave out.
        split_by: `group`, `time` or `test` with the column that says it; no input.
    """

    target: str
    columns: Sequence[str] | None
    drop: Sequence[str]
    split_by: Mapping[str, str]

    def of(self, path: Path, names: Sequence[str]) -> list[str]:
        """The columns in use, in the file's order.

        Args:
            path: of the file, for messages.
            names: its columns.

        Raises:
            UserError: if one is not there, has two uses, or no input is left.
        """
        named = {"target": [self.target], "columns": self.columns or (), "drop": self.drop}
        for key, asked in (named | {key: [name] for key, name in self.split_by.items()}).items():
            for name in asked:
                _check_there(f"dataset.{key}", path, str(name), names)
        by = set(self.split_by.values())
        for key, name in {"target": self.target, **self.split_by}.items():
            if name in self.drop:
                raise UserError(
                    f"dataset.drop: {name!r} is the {key} column and cannot be left out."
                )
        if self.target in by:
            raise UserError(f"dataset.target: {self.target!r} cannot say how to split as well.")
        kept = names if self.columns is None else self.columns
        inputs = {*kept} - {self.target, *self.drop, *by}
        if not inputs:
            raise UserError(
                f"dataset.path: {path} has no column besides the target {self.target!r} to learn "
                "from; add input columns."
            )
        return [name for name in names if name in {*inputs, self.target, *by}]


def _check_there(key: str, path: Path, name: str, names: Sequence[str]) -> None:
    if name in names:
        return
    close = get_close_matches(name, names, n=1)
    hint = f", of which {close[0]!r} is the closest" if close else ""
    if all(re.fullmatch(r"[-+.\deE]+", column) for column in names):
        hint = "; the first line must name them"
    raise UserError(
        f"{key}: {path} has no column {name!r}; its columns are {', '.join(names)}{hint}."
    )
