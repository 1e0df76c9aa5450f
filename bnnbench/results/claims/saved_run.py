"""Readers of finished runs for suites: tables, arrays, and settings that differ from the source's.

The source's settings are the defaults in the YAML file of the experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.discovery import plugin_configs, project
from bnnbench.experiment.store.answer_tables import ANSWERS, COLUMNS, SCORES, TEXT_COLUMNS, Sample
from bnnbench.experiment.store.provenance import read_yaml
from bnnbench.experiment.store.record import Record, read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import read_arrays, read_table
from bnnbench.files import shipped_folder
from bnnbench.results.claims.claims import NotTestable
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.settings import as_typed, differing_from

CLAIMS = "claims"
"""Table that the run's page adds: the claims of its source and their verdicts."""


def read_answers(folder: RunFolder) -> pd.DataFrame:
    """Read `answers.csv`, with columns `COLUMNS`; missing text becomes an empty string.

    Raises:
        UserError: if the file is missing or not such a table.
    """
    problem = "is missing or not a table of answers"
    numbers = COLUMNS[len(TEXT_COLUMNS) :]
    table = read_table(folder.table(ANSWERS), numbers, TEXT_COLUMNS, problem)
    return table[list(COLUMNS)].fillna(dict.fromkeys(TEXT_COLUMNS, ""))


@dataclass(frozen=True)
class SavedRun:
    """Tables and arrays of a finished run, as its figures and claims read them.

    Attributes:
        folder: of the run.
        tables: by name, `answers` among them; missing text is an empty string.
    """

    folder: RunFolder
    tables: Mapping[str, pd.DataFrame]

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.tables[name]

    def rows(self, table: str, **values: Any) -> pd.DataFrame:
        """Return the rows of a table whose columns have these values."""
        rows = self.tables[table]
        for column, value in values.items():
            rows = rows[rows[column] == value]
        return rows.reset_index(drop=True)

    def answer(self, quantity: str, approximation: str, setting: str | None = None) -> pd.Series:
        """Return one row of the answers.

        Args:
            quantity: its name.
            approximation: the algorithm.
            setting: the setting; None takes the first row of any setting.

        Raises:
            NotTestable: if it is missing.
        """
        keys = {"quantity": quantity, "approximation": approximation}
        rows = self.rows(ANSWERS, **keys, **({} if setting is None else {"setting": setting}))
        if rows.empty:
            raise NotTestable(f"{approximation}{f', {setting}' if setting else ''} was not run")
        return rows.iloc[0]

    def value(self, quantity: str, approximation: str, setting: str | None = None) -> float:
        """Return the value of an answer, like `answer`."""
        return float(self.answer(quantity, approximation, setting)["value"])

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
            raise NotTestable(f"{prefix.rstrip('-')} was not run")
        return sorted(map(int, found))

    def values(self, unit: str, column: str) -> np.ndarray:
        """Return a score of every repetition of a setting, `[R]`.

        Raises:
            NotTestable: if it is missing.
        """
        rows = self.rows(SCORES, unit=unit)
        if rows.empty or column not in rows or rows[column].isna().any():
            raise NotTestable(f"{unit} was not run")
        return np.asarray(rows.sort_values("repetition")[column], float)

    def difference(self, column: str, unit: str, other: str) -> Sample:
        """Return mean and spread of `unit - other`, paired by repetition, like `values`."""
        return Sample.of(self.values(unit, column) - self.values(other, column))

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """Read an array file; the rows are in the order of `units`."""
        return read_arrays(self.folder.arrays(name))


def images_of(binarisation: str) -> Callable[[RunFolder], str]:
    """Return a function that names the images of a run.

    Args:
        binarisation: of the source's images. Another one is part of the name, as in `mnist,
            stochastic`.
    """

    def name_of(folder: RunFolder) -> str:
        metadata = read_record(folder).metadata
        name, own = str(metadata["images"]), str(metadata["binarisation"])
        return name if own == binarisation else f"{name}, {own}"

    return name_of


def summarise(values: Sequence[float]) -> Sample:
    """Return mean and spread of the finite values; NaN if there are none."""
    found = np.asarray(values, float)
    finite = found[np.isfinite(found)]
    return Sample.of(finite) if len(finite) else Sample()


def run_reader(
    numbers: Mapping[str, Iterable[str]], optional: Iterable[str] = ()
) -> Callable[[RunFolder], SavedRun]:
    """Return a function that reads the answers and other tables of a run.

    Args:
        numbers: columns that must exist and hold numbers, by table.
        optional: tables that may be missing; they are read as empty.
    """

    def read(folder: RunFolder) -> SavedRun:
        tables = {
            name: read_saved_table(folder, name, columns, name in optional)
            for name, columns in numbers.items()
        }
        return SavedRun(folder, {ANSWERS: read_answers(folder), **tables})

    return read


def read_saved_table(
    folder: RunFolder, name: str, numbers: Iterable[str], optional: bool = False
) -> pd.DataFrame:
    """Read `<name>.csv` like `read_table`; missing text becomes an empty string."""
    problem = f"is missing or is not a valid {name} table"
    table = read_table(folder.table(name), numbers, problem=problem, optional=optional)
    texts = table.select_dtypes(exclude="number").columns
    return table.fillna(dict.fromkeys(texts, ""))


def read_tables(
    runs: Runs,
    kind: str,
    read: Callable[[RunFolder], pd.DataFrame],
    metadata: Sequence[str] = ("dataset",),
) -> pd.DataFrame:
    """Read a table of every run of one kind.

    Args:
        runs: the finished runs.
        kind: of experiment.
        read: reads the table of one run.
        metadata: columns that describe the run, to add to its rows.

    Returns:
        The rows of all tables, with `run`, `label` and the metadata; empty without runs.
    """
    records = runs.tables.get(kind, pd.DataFrame())
    if records.empty:
        return records
    described = records[[*metadata]].assign(label=labels(records))
    tables = [
        read(runs.folders[run]).assign(run=run, **columns)
        for run, columns in described.to_dict("index").items()
    ]
    return pd.concat(tables, ignore_index=True)


GROUP = "experiment"
"""Configuration group, and the key of its settings in a file that sets other groups too."""

NEVER_OF_SOURCE = ("_target_", "label", "seed", "data_seed", "repetitions")
"""Settings that no claim of a source is about."""

Values = Mapping[str, Any]
"""Settings of an experiment by name."""


@dataclass(frozen=True)
class SourceSettings:
    """What a suite adds to the defaults in the file of its experiment.

    Attributes:
        free: settings that the claims do not depend on, or whose values they check themselves.
        grids: lists that may have further values.
        counts: numbers of random draws that may be larger.
        chosen: returns the source's values of settings that the file leaves to the experiment,
            given the record of a run.
        own: returns the values of a run that are not in its identity.
    """

    free: Collection[str] = ()
    grids: Collection[str] = ()
    counts: Collection[str] = ()
    chosen: Callable[[Record], Values] = lambda record: {}
    own: Callable[[RunFolder], Values] = lambda folder: {}

    def differences(self, folder: RunFolder) -> str:
        """Return the settings that differ, as `experiment.theta 1 instead of 2`; empty if none do.

        Raises:
            UserError: if a file of the run is damaged.
        """
        record = read_record(folder)
        own = {**record.identity, **self.own(folder)}
        top, settings = default_settings(record.kind)
        settings = {**settings, **self.chosen(record)}
        source = {
            name: value
            for name, value in {**top, **settings}.items()
            if name in own and not self._may_differ(name, own[name], value)
        }
        full = {name: f"{GROUP}.{name}" if name in settings else name for name in source}
        return ", ".join(
            f"{full[name]} {as_typed(name, value)} instead of {as_typed(name, source[name])}"
            for name, value in differing_from(own, source).items()
        )

    def _may_differ(self, name: str, own: Any, source: Any) -> bool:
        """Return whether claims about the source's value of a setting hold for the run's too."""
        return (
            name in (*self.free, *NEVER_OF_SOURCE)
            or (name in self.grids and {*source} <= {*own})
            or (name in self.counts and bool(own >= source))
        )


def default_settings(kind: str) -> tuple[Values, Values]:
    """Return the defaults in the file of an experiment, without those that it leaves open (null).

    Returns:
        The settings at the top level of the command line, such as `rows`, and those of the
        experiment. Both are empty if there is no such file.
    """
    name = f"{GROUP}/{kind}.yaml"
    file = next((folder / name for folder in _folders() if (folder / name).is_file()), None)
    if file is None:
        return {}, {}
    content = read_yaml(file)
    top, own = (content, content[GROUP]) if GROUP in content else ({}, content)
    return (
        {name: value for name, value in top.items() if not isinstance(value, dict | list)},
        {name: value for name, value in own.items() if value is not None},
    )


def _folders() -> list[Path]:
    found = project()
    return [
        shipped_folder("configs"),
        *plugin_configs().values(),
        *(found.config_dirs if found else ()),
    ]
