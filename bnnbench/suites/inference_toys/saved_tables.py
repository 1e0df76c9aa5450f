"""Reading of the saved tables of a run."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.run_files import damaged_file_error, has_numeric_columns


def read_table(folder: RunFolder, name: str, numbers: Iterable[str]) -> pd.DataFrame:
    """Read `<name>.csv`.

    Args:
        folder: folder of the run.
        name: name of the table.
        numbers: columns that must exist and hold numbers.

    Raises:
        UserError: if the file is missing or is not such a table.
    """
    path = folder.table(name)
    try:
        table = pd.read_csv(path)
        if len(table) and has_numeric_columns(table, numbers):
            return table
    except (OSError, ValueError):
        pass
    raise damaged_file_error(path, f"is missing or is not a valid {name} table")
