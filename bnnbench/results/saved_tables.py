"""The saved tables of a run, as its figures and claims read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS, read_answers
from bnnbench.results.claims import NotTestable
from bnnbench.results.run_files import read_table


@dataclass(frozen=True)
class SavedTables:
    """Tables of a finished run by name, `answers` among them; missing texts are empty."""

    tables: Mapping[str, pd.DataFrame]

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.tables[name]

    def rows(self, table: str, **values: Any) -> pd.DataFrame:
        """Return the rows of a table whose columns have these values."""
        rows = self.tables[table]
        for column, value in values.items():
            rows = rows[rows[column] == value]
        return rows.reset_index(drop=True)

    def answer(self, quantity: str, approximation: str, setting: str | None = None) -> pd.Series:
        """Return one row of the answers.

        Args:
            quantity: its name.
            approximation: the algorithm.
            setting: the setting; None takes the first row of any setting.

        Raises:
            NotTestable: if it is missing.
        """
        keys = {"quantity": quantity, "approximation": approximation}
        rows = self.rows(ANSWERS, **keys, **({} if setting is None else {"setting": setting}))
        if rows.empty:
            raise NotTestable("not run")
        return rows.iloc[0]

    def value(self, quantity: str, approximation: str, setting: str | None = None) -> float:
        """Return the value of an answer, like `answer`."""
        return float(self.answer(quantity, approximation, setting)["value"])


def table_reader(
    numbers: Mapping[str, Iterable[str]], optional: Iterable[str] = ()
) -> Callable[[RunFolder], SavedTables]:
    """Return a function that reads the answers and other tables of a run.

    Args:
        numbers: columns that must exist and hold numbers, by table.
        optional: tables that may be missing; they are read as empty.
    """

    def read(folder: RunFolder) -> SavedTables:
        tables = {
            name: read_saved_table(folder, name, columns, optional)
            for name, columns in numbers.items()
        }
        return SavedTables({ANSWERS: read_answers(folder), **tables})

    return read


def read_saved_table(
    folder: RunFolder, name: str, numbers: Iterable[str], optional: Iterable[str] = ()
) -> pd.DataFrame:
    """Read `<name>.csv`, in which missing texts become empty.

    Args:
        folder: of the run.
        name: of the table.
        numbers: columns that must exist and hold numbers.
        optional: tables that may be missing; they are read as empty.

    Raises:
        UserError: if the file is missing, unless optional, or is not such a table.
    """
    path = folder.table(name)
    if name in optional and not path.exists():
        return pd.DataFrame(columns=list(numbers))
    table = read_table(path, numbers, problem=f"is missing or is not a valid {name} table")
    texts = table.select_dtypes(["object", "str"]).columns
    return table.fillna(dict.fromkeys(texts, ""))
