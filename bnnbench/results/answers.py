"""Results of a run on a problem with a known answer, next to exact and published values."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from math import nan
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.run_files import read_table

ANSWERS = "answers"
"""Table of a run: one row per number."""

CLAIMS = "claims"
"""Table that the run's page adds: the claims of its source and their verdicts."""


@dataclass(frozen=True)
class Answer:
    """One number computed by a run, in the unit of its quantity.

    Attributes:
        quantity: what was computed.
        approximation: the algorithm.
        value: the number.
        setting: the algorithm's setting, if it was run with several.
        standard_error: standard error of `value`, if it is a mean over random repetitions.
        exact: the true value, if known.
        published: the source's own value, if it prints one.
    """

    quantity: str
    approximation: str
    value: float
    setting: str = ""
    standard_error: float = nan
    exact: float = nan
    published: float = nan

    def row(self) -> dict[str, Any]:
        """Return the cells by column, for `UnitStore.save`."""
        return asdict(self)


def mean_answer(
    quantity: str, approximation: str, values: pd.Series, setting: str, published: float
) -> Answer:
    """Return the mean of a quantity over repetitions, with its standard error."""
    error = float(values.std(ddof=1) / math.sqrt(len(values)))
    mean = float(values.mean())
    return Answer(quantity, approximation, mean, setting, error, published=published)


TEXT_COLUMNS = ("quantity", "approximation", "setting")

COLUMNS = (
    *TEXT_COLUMNS,
    *(field.name for field in fields(Answer) if field.name not in TEXT_COLUMNS),
)
"""The columns of `answers.csv`, in order."""


def read_answers(folder: RunFolder) -> pd.DataFrame:
    """Read `answers.csv`, with columns `COLUMNS`; missing texts are empty strings.

    Raises:
        UserError: if the file is missing or not such a table.
    """
    problem = "is missing or not a table of answers"
    numeric = COLUMNS[len(TEXT_COLUMNS) :]
    table = read_table(folder.table(ANSWERS), numeric, TEXT_COLUMNS, problem)
    return table[list(COLUMNS)].fillna(dict.fromkeys(TEXT_COLUMNS, ""))
