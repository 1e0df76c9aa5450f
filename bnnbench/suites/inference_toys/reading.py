"""Tables that a toy left, read back for its figures."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.run_files import damaged, holds


def read_table(folder: RunFolder, name: str, numbers: Iterable[str]) -> pd.DataFrame:
    """The rows of `<name>.csv`.

    Args:
        folder: of the run.
        name: of the table.
        numbers: columns that must be there and hold numbers.

    Raises:
        UserError: if the file is missing or not such a table.
    """
    path = folder.table(name)
    try:
        table = pd.read_csv(path)
        if len(table) and holds(table, numbers):
            return table
    except (OSError, ValueError):
        pass
    raise damaged(path, f"is missing or not a table of {name.replace('_', ' ')}")
