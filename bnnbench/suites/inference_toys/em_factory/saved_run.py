"""The saved tables of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.saved_tables import read_table


@dataclass(frozen=True)
class EMFactoryRun:
    """The saved tables of a run."""

    answers: pd.DataFrame
    iterates: pd.DataFrame

    @property
    def trajectories(self) -> list[tuple[int, pd.DataFrame]]:
        """The number of each start and its iterates."""
        column = self.iterates["start"]
        return [(int(start), self.iterates[column == start]) for start in sorted(column.unique())]

    def select(self, approximation: str, quantities: Sequence[str]) -> pd.DataFrame:
        """Return the answers of one algorithm for every start."""
        rows = self.answers[self.answers["approximation"] == approximation]
        return rows[rows["quantity"].isin(quantities)]


def read_run(folder: RunFolder) -> EMFactoryRun:
    """Read the tables of a finished run."""
    iterates = read_table(folder, names.ITERATES, names.NUMERIC_COLUMNS[names.ITERATES])
    return EMFactoryRun(read_answers(folder), iterates)
