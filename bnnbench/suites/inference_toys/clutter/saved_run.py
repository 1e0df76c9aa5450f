"""The saved tables of a run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.saved_tables import read_table


@dataclass(frozen=True)
class ClutterRun:
    """The saved tables of a run."""

    answers: pd.DataFrame
    progress: pd.DataFrame
    orders: pd.DataFrame
    powers: pd.DataFrame

    @property
    def sizes(self) -> list[int]:
        """The numbers of observations, increasing."""
        return sorted(int(size) for size in self.orders["observations"].unique())

    def answer(self, quantity: str, approximation: str, size: int) -> pd.Series:
        """Return one row of the answers."""
        selected = (
            (self.answers["quantity"] == quantity)
            & (self.answers["approximation"] == approximation)
            & (self.answers["setting"] == names.setting(size))
        )
        return self.answers[selected].iloc[0]

    def steps(self, algorithm: str, size: int) -> pd.DataFrame:
        """Return the steps of one algorithm."""
        table = self.progress
        return table[(table["algorithm"] == algorithm) & (table["observations"] == size)]

    def random_orders(self, size: int) -> pd.DataFrame:
        """Return the random orders of one data set."""
        return self.orders[self.orders["observations"] == size]


def read_run(folder: RunFolder) -> ClutterRun:
    """Read the tables of a finished run."""
    table_names = (names.PROGRESS, names.ORDERS, names.POWERS)
    tables = (read_table(folder, name, names.NUMERIC_COLUMNS[name]) for name in table_names)
    return ClutterRun(read_answers(folder), *tables)
