"""The saved tables of a run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.saved_tables import read_table


@dataclass(frozen=True)
class ConjugatePairsRun:
    """The saved tables of a run."""

    answers: pd.DataFrame
    decisions: pd.DataFrame
    transforms: pd.DataFrame

    @property
    def sizes(self) -> list[int]:
        """The numbers of observations, increasing."""
        return sorted(int(size) for size in self.decisions["observations"].unique())

    def value(self, pair: str, estimate: str, size: int) -> float:
        """Return an estimate in closed form."""
        selected = (
            (self.answers["quantity"] == names.quantity(pair, estimate))
            & (self.answers["approximation"] == names.CLOSED_FORM)
            & (self.answers["setting"] == names.setting(size))
        )
        return float(self.answers.loc[selected, "value"].iloc[0])


def read_run(folder: RunFolder) -> ConjugatePairsRun:
    """Read the tables of a finished run."""
    tables = (
        read_table(folder, name, names.NUMERIC_COLUMNS[name])
        for name in (names.DECISIONS, names.TRANSFORMS)
    )
    return ConjugatePairsRun(read_answers(folder), *tables)
