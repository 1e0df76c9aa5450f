"""Finished runs of the sprinkler, arranged as in the thesis's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder, read_record
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import damaged_file_error, has_numeric_columns
from bnnbench.suites.lam_density_ratio.comparison.deviations import (
    SETTING_OF_SCHEDULE,
    THESIS_SETTINGS,
    deviating_settings,
    fewer_repetitions,
)
from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed_tables
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, summarise
from bnnbench.suites.lam_density_ratio.names import label
from bnnbench.suites.lam_density_ratio.tables import CURVES, KIND, OK, REPETITIONS, STUCK

MEASURES = ("average_kl", "estimator_loss", "nelbo")
"""Columns of `curves.csv` with measures of the training."""

NUMERIC_COLUMNS = {
    REPETITIONS: ("repetition", "average_kl", "average_kl_last5", "kl", "sliced_wasserstein"),
    CURVES: ("repetition", "iteration", *MEASURES),
}
"""Numeric columns that each table must have."""


@dataclass(frozen=True)
class SprinklerRun:
    """One finished run.

    Attributes:
        digest: digest of its record.
        metadata: metadata of its record: contrast, divergence, estimator, numerics, observations,
            schedule and every setting of the schedule.
        folder: folder of the run.
        repetitions: rows of `repetitions.csv`.
        curves: rows of `curves.csv`.
    """

    digest: str
    metadata: Mapping[str, Any]
    folder: RunFolder
    repetitions: pd.DataFrame
    curves: pd.DataFrame

    @property
    def name(self) -> str:
        """Contrast, divergence and estimator, as in tables: `prior, reverse KL, T`."""
        names = self.metadata
        return f"{names['contrast']}, {label(names['divergence'], names['estimator'])}"

    @property
    def cell(self) -> Cell | None:
        """The corresponding configuration of the thesis; None for another schedule."""
        setting = SETTING_OF_SCHEDULE.get(self.metadata["schedule"])
        parts = (str(self.metadata[name]) for name in ("contrast", "divergence", "estimator"))
        return Cell(setting, *parts) if setting else None

    @cached_property
    def deviating_settings(self) -> tuple[str, ...]:
        """Settings that differ from the thesis, except the number of repetitions."""
        return tuple(deviating_settings(self.metadata, self.cell.setting)) if self.cell else ()

    @property
    def deviations(self) -> tuple[str, ...]:
        """All differences from the thesis."""
        return (*self.deviating_settings, *fewer_repetitions(len(self.repetitions)))

    @property
    def finished(self) -> pd.DataFrame:
        """The repetitions that did not fail."""
        return self.repetitions[self.repetitions["status"] == OK]

    @property
    def stuck(self) -> int:
        """Number of repetitions that got stuck at a ratio of zero."""
        return int((self.repetitions["status"] == STUCK).sum())

    def sample(self, column: str = "average_kl") -> Sample:
        """Return mean and spread of a column over the repetitions that did not fail."""
        return summarise(self.finished[column].tolist())

    @cached_property
    def finished_curves(self) -> pd.DataFrame:
        """Rows of `curves.csv` of repetitions that did not fail."""
        return self.curves[self.curves["repetition"].isin(self.finished["repetition"])]

    @cached_property
    def mean_curve(self) -> pd.DataFrame:
        """Means over the repetitions that did not fail, columns `MEASURES`, index `iteration`."""
        return self.finished_curves.groupby("iteration")[list(MEASURES)].mean()


@dataclass(frozen=True)
class Evidence:
    """Data on which claims are checked.

    Attributes:
        tables: mean and spread of each configuration, by number of the thesis's table.
        runs: runs behind the tables, by configuration; empty for the thesis itself.
        model_runs: runs with observations drawn from the model, by configuration.
        iterations: iterations of the generator, by configuration.
        others: further runs.
    """

    tables: Mapping[str, Mapping[Cell, Sample]]
    runs: Mapping[Cell, SprinklerRun] = field(default_factory=dict)
    model_runs: Mapping[Cell, SprinklerRun] = field(default_factory=dict)
    iterations: Mapping[Cell, int] = field(default_factory=dict)
    others: tuple[SprinklerRun, ...] = ()

    def deviation_note(self, cells: Iterable[Cell]) -> str:
        """Return `; settings differ` if a run of some configurations deviates from the thesis."""
        deviating = any(self.runs[cell].deviations for cell in cells if cell in self.runs)
        return "; settings differ" if deviating else ""


def thesis_evidence() -> Evidence:
    """Return the thesis's own numbers."""
    tables = printed_tables()
    cells = {cell for table in tables.values() for cell in table}
    lengths = {c: THESIS_SETTINGS[c.setting, c.contrast]["iterations"][0] for c in cells}
    return Evidence(tables, iterations=lengths)


def evidence_of(runs: Sequence[SprinklerRun]) -> Evidence:
    """Return the configurations of the thesis among some runs.

    Among several runs of one configuration, the one with the fewest deviating settings is used,
    then the one with the most repetitions, then the first.
    """
    data_runs = _best_runs(run for run in runs if run.metadata["observations"] == "data")
    model_runs = _best_runs(run for run in runs if run.metadata["observations"] == "model")
    tables = {
        name: {cell: data_runs[cell].sample() for cell in rows if cell in data_runs}
        for name, rows in printed_tables().items()
    }
    lengths = {cell: int(run.metadata["iterations"]) for cell, run in data_runs.items()}
    used = {run.digest for best_runs in (data_runs, model_runs) for run in best_runs.values()}
    others = tuple(run for run in runs if run.digest not in used and run.sample().size)
    return Evidence(tables, data_runs, model_runs, lengths, others)


def _best_runs(runs: Iterable[SprinklerRun]) -> dict[Cell, SprinklerRun]:
    ranked = sorted(runs, key=lambda run: (len(run.deviating_settings), -len(run.repetitions)))
    best: dict[Cell, SprinklerRun] = {}
    for run in ranked:
        if run.cell and run.sample().size:
            best.setdefault(run.cell, run)
    return best


def sprinkler_runs(runs: Runs) -> list[SprinklerRun]:
    """Return every finished sprinkler run of a report.

    Raises:
        UserError: if a table is damaged.
    """
    table = runs.tables.get(KIND, pd.DataFrame())
    return [read_sprinkler(runs.folders[digest]) for digest in table.index]


def read_sprinkler(folder: RunFolder) -> SprinklerRun:
    """Read a finished run.

    Raises:
        UserError: if a table is damaged.
    """
    record = read_record(folder)
    repetitions = _read(folder, REPETITIONS)
    # There are no curves if all repetitions fail before the first evaluation.
    if folder.table(CURVES).exists() or (repetitions["status"] == OK).any():
        curves = _read(folder, CURVES)
    else:
        curves = pd.DataFrame(columns=list(NUMERIC_COLUMNS[CURVES]))
    return SprinklerRun(record.digest, record.metadata, folder, repetitions, curves)


def _read(folder: RunFolder, name: str) -> pd.DataFrame:
    path = folder.table(name)
    try:
        table = pd.read_csv(path)
        if len(table) and has_numeric_columns(table, NUMERIC_COLUMNS[name]):
            return table
    except (OSError, ValueError):
        pass
    raise damaged_file_error(path, "is missing or damaged")
