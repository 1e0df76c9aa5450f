"""Numbers beside exact and published ones: what a run on a problem with a known answer leaves."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from math import nan
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.run_files import damaged, holds

ANSWERS = "answers"
"""Table of a run: a row per number that a reader would quote."""

CLAIMS = "claims"
"""Table that the run's page adds: what its source says, and the verdicts."""


@dataclass(frozen=True)
class Answer:
    """One number of a run, in the units that its quantity names.

    Attributes:
        quantity: what was computed.
        approximation: by which algorithm.
        value: the number.
        setting: under what, where one algorithm has several.
        standard_error: of `value`, where it is a mean over random repetitions.
        exact: the true value, where it is known.
        published: the source's own value, where it prints one.
    """

    quantity: str
    approximation: str
    value: float
    setting: str = ""
    standard_error: float = nan
    exact: float = nan
    published: float = nan

    def row(self) -> dict[str, Any]:
        """Its cells by column, for `UnitStore.save`."""
        return asdict(self)


WORDS = ("quantity", "approximation", "setting")

COLUMNS = (*WORDS, *(field.name for field in fields(Answer) if field.name not in WORDS))
"""The columns of `answers.csv`, in their order."""


def read_answers(folder: RunFolder) -> pd.DataFrame:
    """The rows of `answers.csv`, columns `COLUMNS`; words that were left out are empty.

    Raises:
        UserError: if the file is missing or not such a table.
    """
    path = folder.table(ANSWERS)
    try:
        table = pd.read_csv(path, dtype=dict.fromkeys(WORDS, str), keep_default_na=True)
        if len(table) and set(COLUMNS) <= set(table) and holds(table, COLUMNS[len(WORDS) :]):
            return table[list(COLUMNS)].fillna(dict.fromkeys(WORDS, ""))
    except (OSError, ValueError):
        pass
    raise damaged(path, "is missing or not a table of answers")


def value_of(
    answers: pd.DataFrame, quantity: str, approximation: str, setting: str | None = None
) -> float:
    """One number; NaN where it is not there.

    Args:
        answers: of `read_answers`.
        quantity: its name.
        approximation: the algorithm.
        setting: under what; the first row of any if not given.
    """
    chosen = (answers["quantity"] == quantity) & (answers["approximation"] == approximation)
    if setting is not None:
        chosen &= answers["setting"] == setting
    values = answers.loc[chosen, "value"]
    return float(values.iloc[0]) if len(values) else nan
