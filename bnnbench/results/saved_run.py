"""The files of a run over settings and repetitions, as its figures and claims read them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bnnbench.experiment.run_folder import Rows, RunFolder
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.claims import NotTestable
from bnnbench.results.saved_tables import SavedTables, table_reader

SCORES, CURVES = "scores", "curves"
"""Tables with a row per setting and repetition, and with a row for each evaluation too."""


def repetition_tables(
    unit: str, answers: Iterable[Answer], scores: Rows, curves: Sequence[Rows]
) -> dict[str, Rows]:
    """Return the tables of a unit.

    Args:
        unit: its name.
        answers: means over its repetitions.
        scores: of each repetition.
        curves: the evaluations of each repetition.
    """
    keys = [{"unit": unit, "repetition": k} for k in range(len(scores))]
    return {
        ANSWERS: [answer.row() for answer in answers],
        SCORES: [{**key, **row} for key, row in zip(keys, scores, strict=True)],
        CURVES: [{**k, **row} for k, curve in zip(keys, curves, strict=True) for row in curve],
    }


class Estimate(NamedTuple):
    """A mean over repetitions with its standard error."""

    mean: float
    error: float

    @property
    def is_positive(self) -> bool:
        """Whether the mean is more than two standard errors above 0."""
        return self.mean > 2 * self.error

    def __str__(self) -> str:
        return f"{self.mean:+.3g} ± {self.error:.1g}"


@dataclass(frozen=True)
class SavedRun(SavedTables):
    """Tables and arrays of a run.

    Attributes:
        folder: of the run.
    """

    folder: RunFolder

    @property
    def units(self) -> list[str]:
        """Names of the settings, in the order of the tables."""
        return list(dict.fromkeys(self[SCORES]["unit"]))

    def sizes(self, prefix: str) -> list[int]:
        """Return the numbers that units with this prefix end in, in increasing order.

        Raises:
            NotTestable: if there is no such unit.
        """
        found = [unit.removeprefix(prefix) for unit in self.units if unit.startswith(prefix)]
        if not found:
            raise NotTestable("not run")
        return sorted(map(int, found))

    def values(self, unit: str, column: str) -> np.ndarray:
        """Return a score of every repetition of a setting, `[R]`.

        Raises:
            NotTestable: if it is missing.
        """
        rows = self.rows(SCORES, unit=unit)
        if rows.empty or column not in rows or rows[column].isna().any():
            raise NotTestable("not run")
        return rows.sort_values("repetition")[column].to_numpy(float)

    def estimate(self, unit: str, column: str) -> Estimate:
        """Return the mean of a score over repetitions, like `values`."""
        return summarise(self.values(unit, column))

    def difference(self, column: str, unit: str, other: str) -> Estimate:
        """Return the mean of `unit - other`, paired by repetition, like `values`."""
        return summarise(self.values(unit, column) - self.values(other, column))

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Read an array file; the rows are in the order of `units`."""
        with np.load(self.folder.arrays(name)) as file:
            return {key: file[key] for key in file.files}


def summarise(values: np.ndarray) -> Estimate:
    """Return the mean of `[R]` values and its standard error."""
    return Estimate(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))))


def run_reader(scores: Iterable[str], curves: Iterable[str]) -> Callable[[RunFolder], SavedRun]:
    """Return a function that reads a run, with these numbers in its scores and curves."""
    read = table_reader({SCORES: ("repetition", *scores), CURVES: ("repetition", *curves)})
    return lambda folder: SavedRun(read(folder).tables, folder)
