"""Finished runs of the sprinkler, arranged as in the thesis's tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import read_arrays, reading
from bnnbench.results.claims.claims import NotTestable, TooFew
from bnnbench.results.claims.saved_run import read_saved_table, summarise
from bnnbench.results.compare.undecided import Undecided
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.lam_density_ratio import names
from bnnbench.suites.lam_density_ratio.comparison import thesis
from bnnbench.suites.lam_density_ratio.comparison.thesis import ThesisCell
from bnnbench.suites.lam_density_ratio.repetitions import Repetitions

MIN_REPETITIONS = 10
"""Number of repetitions below which a test has too little power."""

ENOUGH = Undecided(MIN_REPETITIONS, "finished repetitions", has_spread=False)

NOT_RUN = "not run with the settings of a schedule"

REPETITION_COLUMNS = ("repetition", "average_kl", "kl")

CURVE_COLUMNS = ("repetition", "iteration", *names.MEASURES)
"""Numeric columns that the tables must have."""


@dataclass(frozen=True, kw_only=True)
class SprinklerRun(Repetitions):
    """One finished run.

    Attributes:
        digest: digest of its record.
        metadata: metadata of its record: contrast, divergence, estimator, numerics, observations,
            schedule and every setting of the schedule.
        folder: folder of the run.
    """

    digest: str
    metadata: Mapping[str, Any]
    folder: RunFolder

    @property
    def cell(self) -> ThesisCell:
        """The corresponding configuration of the thesis."""
        setting = thesis.SETTING_OF_SCHEDULE[self.metadata["schedule"]]
        keys = ("contrast", "divergence", "estimator")
        return ThesisCell(setting, *(str(self.metadata[key]) for key in keys))

    @property
    def is_stable(self) -> bool:
        """Whether the run has the form of the losses that D, r and T share."""
        return bool(self.metadata["numerics"] == "stable")

    @cached_property
    def deviating_settings(self) -> tuple[str, ...]:
        """Settings that differ from the thesis, except the number of repetitions."""
        return tuple(thesis.deviating_settings(self.metadata, self.cell.setting))

    @cached_property
    def changed_settings(self) -> str:
        """Settings that are neither the thesis's nor those of the schedule, for a sentence."""
        return thesis.SETTINGS.differences(self.folder)

    @property
    def deviations(self) -> tuple[str, ...]:
        """All differences from the thesis, the last being `5 of 30 repetitions` if fewer."""
        size = len(self.scores)
        if size >= thesis.REPETITIONS:
            return self.deviating_settings
        return (*self.deviating_settings, f"{size} of {thesis.REPETITIONS} repetitions")

    def sample(self, column: str = "average_kl") -> Sample:
        """Return mean and spread of a score, by default of the one of the thesis."""
        return super().sample(column)

    def differences(self, other: SprinklerRun) -> Sample:
        """Return the final average KL minus that of the other run's repetitions of equal number."""
        first, second = (
            run.finished.set_index("repetition")["average_kl"] for run in (self, other)
        )
        return summarise((first - second).tolist())

    @cached_property
    def mean_curve(self) -> pd.DataFrame:
        """Means over the repetitions that did not fail, columns `MEASURES`, index `iteration`."""
        return self.finished_curves.groupby("iteration")[list(names.MEASURES)].mean()

    def differs_only_in(self, setting: str, other: SprinklerRun) -> bool:
        """Return whether all other settings of two runs are equal."""
        own, others = (
            {k: v for k, v in run.metadata.items() if k != setting} for run in (self, other)
        )
        return own == others

    def draws(self, repetition: int) -> np.ndarray:
        """Return the final draws `[x, n, 2]` of a repetition.

        Raises:
            UserError: if the file is damaged.
        """
        path = self.folder.arrays(names.SAMPLES)
        arrays = read_arrays(path)
        with reading(path):
            index = self.scores["repetition"].tolist().index(repetition)
            return np.asarray(arrays[names.SAMPLES][index], float)


@dataclass(frozen=True)
class SprinklerEvidence:
    """Data on which claims are checked.

    Attributes:
        tables: mean and spread of each configuration, by number of the thesis's table.
        runs: runs behind the tables, by configuration, even if all repetitions failed; empty for
            the thesis itself.
        model_runs: runs with observations drawn from the model, by configuration.
        iterations: iterations of the generator, by configuration.
    """

    tables: Mapping[str, Mapping[ThesisCell, Sample]]
    runs: Mapping[ThesisCell, SprinklerRun] = field(default_factory=dict)
    model_runs: Mapping[ThesisCell, SprinklerRun] = field(default_factory=dict)
    iterations: Mapping[ThesisCell, int] = field(default_factory=dict)

    def sample(self, cell: ThesisCell, table: str = "") -> Sample:
        """Return a row of a table, by default of chapter 8 or 9; its size is 0 if it is missing."""
        number = table or thesis.TABLE_NUMBERS[cell.setting, cell.contrast]
        return self.tables.get(number, {}).get(cell, Sample())

    def shared_run(self, cell: ThesisCell) -> SprinklerRun | None:
        """Return the stable run that represents a configuration that was not run itself, if any.

        D, r and T are one function of the network's last sum (9.1.2), so that with stable numerics
        the three are one algorithm, which is run as T.
        """
        if cell in self.runs or cell.estimator not in names.ESTIMATORS:
            return None
        run = self.runs.get(replace(cell, estimator="log_ratio"))
        return run if run and run.is_stable else None

    def with_enough(
        self, cases: Iterable[Sequence[ThesisCell]], table: str = "", needed: int = 1
    ) -> list[Sequence[ThesisCell]]:
        """Return the cases whose configurations all have `MIN_REPETITIONS` finished repetitions.

        Raises:
            NotTestable: as `not_enough` says, if there are fewer cases than needed.
            TooFew: likewise.
        """
        found = [*cases]
        complete = [
            case
            for case in found
            if all(self.sample(cell, table).size >= MIN_REPETITIONS for cell in case)
        ]
        if len(complete) < needed:
            raise self.not_enough(found, table, needed)
        return complete

    def not_enough(
        self,
        cases: Iterable[Sequence[ThesisCell]],
        table: str = "",
        needed: int = 1,
        needs_runs: bool = False,
    ) -> NotTestable | TooFew:
        """Return why a claim is not confirmed or contradicted.

        Args:
            cases: the configurations of each case of the claim.
            table: number of their table in the thesis.
            needed: in how many cases all configurations must have enough repetitions.
            needs_runs: whether a row of a table does not suffice.
        """
        found = [*cases]
        missing = {
            cell
            for case in found
            for cell in case
            if cell not in self.runs and (needs_runs or not self.sample(cell, table).size)
        }
        run = [case for case in found if missing.isdisjoint(case)]
        if len(run) < needed:
            absent = sorted(missing)
            return NotTestable(f"{NOT_RUN}: {_listed(f'{c.setting} {c.name}' for c in absent)}")
        sizes = {cell: self.sample(cell, table).size for case in run for cell in case}
        few = (f"{c.setting} {c.name}: {n}" for c, n in sizes.items() if n < MIN_REPETITIONS)
        return TooFew(f"finished repetitions of {_listed(few)}", ENOUGH)

    def available(self, cells: Iterable[ThesisCell]) -> dict[ThesisCell, SprinklerRun]:
        """Return the runs of some configurations that have finished repetitions."""
        return {cell: run for cell in cells if (run := self.runs.get(cell)) and run.sample().size}

    @property
    def changed_settings(self) -> str:
        """The changed settings of a run, if there is no run without."""
        changed = [run.changed_settings for run in (*self.runs.values(), *self.model_runs.values())]
        return "" if "" in changed else next(iter(changed), "")

    def unchanged(self) -> SprinklerEvidence:
        """Return the evidence of the runs without changed settings."""
        changed = {cell for cell, run in self.runs.items() if run.changed_settings}
        tables = {
            number: {cell: sample for cell, sample in rows.items() if cell not in changed}
            for number, rows in self.tables.items()
        }
        runs = {cell: run for cell, run in self.runs.items() if cell not in changed}
        return replace(self, runs=runs, tables=tables)

    def deviation_note(self, cells: Iterable[ThesisCell]) -> str:
        """Return `; settings differ` if a run of some configurations deviates from the thesis."""
        deviating = any(run.deviations for run in self.available(cells).values())
        return "; settings differ" if deviating else ""


def _listed(names: Iterable[str]) -> str:
    """Return the first two of some names, and how many more there are."""
    found = [*names]
    return "; ".join(found[:2]) + (f" and {len(found) - 2} more" if len(found) > 2 else "")


def thesis_evidence() -> SprinklerEvidence:
    """Return the thesis's own numbers."""
    lengths = {
        cell: thesis.thesis_settings(cell.setting, cell.contrast)["iterations"][0]
        for cell in thesis.published_values()
    }
    return SprinklerEvidence(thesis.printed_tables(), iterations=lengths)


def evidence_of(runs: Sequence[SprinklerRun]) -> SprinklerEvidence:
    """Return the configurations of the thesis among some runs.

    Among several runs of one configuration, the one with the fewest deviating settings is used,
    then the one with the most repetitions, then the first.
    """
    data_runs, model_runs = (
        _best_runs(run for run in runs if run.metadata["observations"] == source)
        for source in ("data", "model")
    )
    tables = {
        name: {cell: data_runs[cell].sample() for cell in rows if cell in data_runs}
        for name, rows in thesis.printed_tables().items()
    }
    lengths = {cell: int(run.metadata["iterations"]) for cell, run in data_runs.items()}
    return SprinklerEvidence(tables, data_runs, model_runs, lengths)


def _best_runs(runs: Iterable[SprinklerRun]) -> dict[ThesisCell, SprinklerRun]:
    best: dict[ThesisCell, SprinklerRun] = {}
    for run in sorted(runs, key=lambda run: (len(run.deviating_settings), -len(run.scores))):
        best.setdefault(run.cell, run)
    return best


def sprinkler_runs(runs: Runs) -> list[SprinklerRun]:
    """Return every finished sprinkler run of a report.

    Raises:
        UserError: if a table is damaged.
    """
    table = runs.tables.get(names.KIND, pd.DataFrame())
    return [read_sprinkler(runs.folders[digest]) for digest in table.index]


def read_sprinkler(folder: RunFolder) -> SprinklerRun:
    """Read a finished run.

    Raises:
        UserError: if a table is damaged.
    """
    record = read_record(folder)
    scores = read_saved_table(folder, names.REPETITIONS, REPETITION_COLUMNS)
    # There are no curves if all repetitions fail before the first evaluation.
    optional = not (scores["status"] == names.OK).any()
    curves = read_saved_table(folder, names.CURVES, CURVE_COLUMNS, optional)
    return SprinklerRun(
        scores, curves, digest=record.digest, metadata=record.metadata, folder=folder
    )
