"""What finished runs of the sprinkler say, in the shape in which the thesis's tables say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import damaged, holds
from bnnbench.suites.lam_density_ratio.comparison.departures import (
    READINGS,
    SETTINGS,
    fewer_repetitions,
    other_settings,
)
from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, sample_of
from bnnbench.suites.lam_density_ratio.tables import CURVES, KIND, OK, REPETITIONS, STUCK

MEASURES = ("average_kl", "estimator_loss", "nelbo")
"""What is followed through the training, columns of `curves.csv`."""

NUMBERS = {
    REPETITIONS: ("repetition", "average_kl", "average_kl_last5", "kl", "sliced_wasserstein"),
    CURVES: ("repetition", "iteration", *MEASURES),
}
"""Columns of numbers that a table has at the least."""


@dataclass(frozen=True)
class SprinklerRun:
    """One finished run.

    Attributes:
        digest: of its record.
        names: of its record: contrast, divergence, estimator, numerics, observations, protocol and
            every setting of the schedule.
        folder: where it lies.
        repetitions: rows of `repetitions.csv`.
        curves: rows of `curves.csv`.
    """

    digest: str
    names: Mapping[str, Any]
    folder: RunFolder
    repetitions: pd.DataFrame
    curves: pd.DataFrame

    @property
    def cell(self) -> Cell | None:
        """The configuration of the thesis that it stands for; None for another protocol."""
        setting = SETTINGS.get(self.names["protocol"])
        parts = (str(self.names[name]) for name in ("contrast", "divergence", "estimator"))
        return Cell(setting, *parts) if setting else None

    @cached_property
    def other_settings(self) -> tuple[str, ...]:
        """In what its settings are not the thesis's, the number of repetitions aside."""
        return tuple(other_settings(self.names, self.cell.setting)) if self.cell else ()

    @property
    def departures(self) -> tuple[str, ...]:
        """In what it differs from what the thesis did."""
        return (*self.other_settings, *fewer_repetitions(len(self.repetitions)))

    @property
    def finished(self) -> pd.DataFrame:
        """The repetitions that did not fail."""
        return self.repetitions[self.repetitions["status"] == OK]

    @property
    def stuck(self) -> int:
        """How many repetitions ended at the loss of a ratio that is zero everywhere."""
        return int((self.repetitions["status"] == STUCK).sum())

    def sample(self, column: str = "average_kl") -> Sample:
        """Mean and spread over the repetitions that did not fail."""
        return sample_of(self.finished[column].tolist())

    @cached_property
    def own_curves(self) -> pd.DataFrame:
        """The rows of `curves.csv` of repetitions that did not fail."""
        return self.curves[self.curves["repetition"].isin(self.finished["repetition"])]

    @cached_property
    def course(self) -> pd.DataFrame:
        """Means over these repetitions, columns `MEASURES`, index `iteration`."""
        return self.own_curves.groupby("iteration")[list(MEASURES)].mean()


@dataclass(frozen=True)
class Evidence:
    """What claims are judged on.

    Attributes:
        tables: by the thesis's number of a table, mean and spread of each of its configurations.
        runs: that they were made from, by configuration; none for the thesis itself.
        remedied: runs whose observations are drawn from the model, by configuration.
        iterations: of the generator, by configuration.
        others: further runs of these configurations.
    """

    tables: Mapping[str, Mapping[Cell, Sample]]
    runs: Mapping[Cell, SprinklerRun] = field(default_factory=dict)
    remedied: Mapping[Cell, SprinklerRun] = field(default_factory=dict)
    iterations: Mapping[Cell, int] = field(default_factory=dict)
    others: tuple[SprinklerRun, ...] = ()

    def departing(self, cells: Iterable[Cell]) -> str:
        """`; settings differ` where a run behind some configurations is not as published."""
        others = [cell for cell in cells if cell in self.runs and self.runs[cell].departures]
        return "; settings differ" if others else ""


def thesis() -> Evidence:
    """The thesis's own numbers."""
    tables = printed()
    cells = {cell for table in tables.values() for cell in table}
    lengths = {c: READINGS[c.setting, c.contrast]["iterations"][0] for c in cells}
    return Evidence(tables, iterations=lengths)


def evidence_of(runs: Sequence[SprinklerRun]) -> Evidence:
    """The configurations of the thesis among some runs.

    Of several runs of one configuration that with the fewest other settings counts, then that of
    the most repetitions, then the first.
    """
    chosen = _chosen(run for run in runs if run.names["observations"] == "data")
    remedied = _chosen(run for run in runs if run.names["observations"] == "model")
    tables = {
        name: {cell: chosen[cell].sample() for cell in rows if cell in chosen}
        for name, rows in printed().items()
    }
    lengths = {cell: int(run.names["iterations"]) for cell, run in chosen.items()}
    taken = {run.digest for some in (chosen, remedied) for run in some.values()}
    others = tuple(run for run in runs if run.digest not in taken and run.sample().size)
    return Evidence(tables, chosen, remedied, lengths, others)


def _chosen(runs: Iterable[SprinklerRun]) -> dict[Cell, SprinklerRun]:
    ranked = sorted(runs, key=lambda run: (len(run.other_settings), -len(run.repetitions)))
    found: dict[Cell, SprinklerRun] = {}
    for run in ranked:
        if run.cell and run.sample().size:
            found.setdefault(run.cell, run)
    return found


def sprinkler_runs(runs: Runs) -> list[SprinklerRun]:
    """Every finished sprinkler of a report.

    Raises:
        UserError: if a table of one is damaged.
    """
    table = runs.tables.get(KIND, pd.DataFrame())
    return [read_sprinkler(runs.folders[digest]) for digest in table.index]


def read_sprinkler(folder: RunFolder) -> SprinklerRun:
    """One finished run.

    Raises:
        UserError: if a table of it is damaged.
    """
    record = read_record(folder)
    repetitions = _read(folder, REPETITIONS)
    # Where all repetitions fail before the first evaluation there are no curves.
    there = folder.table(CURVES).exists() or (repetitions["status"] == OK).any()
    curves = _read(folder, CURVES) if there else pd.DataFrame(columns=list(NUMBERS[CURVES]))
    return SprinklerRun(record.digest, record.names, folder, repetitions, curves)


def _read(folder: RunFolder, name: str) -> pd.DataFrame:
    path = folder.table(name)
    try:
        table = pd.read_csv(path)
        if len(table) and holds(table, NUMBERS[name]):
            return table
    except (OSError, ValueError):
        pass
    raise damaged(path, "is missing or not such a table")
