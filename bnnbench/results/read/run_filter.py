"""Filter the runs, data sets and metrics of a report, also by settings, and order them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from bnnbench.constraints import with_python_numbers
from bnnbench.experiment.store.record import TRIAL
from bnnbench.experiment.store.split_files import KIND
from bnnbench.near_names import check_known_names, closest_match, list_names
from bnnbench.notes import quantity
from bnnbench.results.metric_table import BY_KEY, Metric
from bnnbench.results.published.protocol import with_components
from bnnbench.results.read.run_tables import Runs, matching_rows
from bnnbench.results.read.split_means import with_incomplete
from bnnbench.results.settings import format_value, same_value
from bnnbench.types import UserError

OPTION = "--where"

PROTOCOL = "protocol"
"""Column with the label of the chosen protocol."""

STATISTIC_ENDS = ("_mean", "_std", "_stderr")
"""Suffixes of columns that are scores."""


@dataclass(frozen=True)
class Condition:
    """A value that a setting must have.

    Attributes:
        name: of the setting, as on the command line of `bnnbench run`.
        value: as typed.
    """

    name: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read `setting=value`.

        Raises:
            UserError: for anything else.
        """
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise UserError(
                f"{OPTION}: write SETTING=VALUE, such as search.iterations=30, not {text!r}.",
                OPTION,
                "syntax",
            )
        return cls(name, with_python_numbers(value))

    def holds(self, run: Mapping[Any, Any]) -> bool:
        """Return whether the setting of a run has the value."""
        return any(_equals(found, self.value) for found in values_of(run, self.name))

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of `Runs.tables` for which it holds."""
        return table[[self.holds(run) for run in table.to_dict("records")]]


def values_of(run: Mapping[str, Any], name: str) -> Iterator[Any]:
    """Yield the values of a setting in a run.

    A component of another one is found under its own name too: `divergence.weight` is stored as
    `method.divergence.weight`.

    Args:
        run: a row of `Runs.tables`: metadata and `settings`.
        name: of the setting.
    """
    settings, first = with_components(run["settings"]), name.partition(".")[0]
    if name in settings:
        yield settings[name]
    if name in run and not name.endswith(STATISTIC_ENDS) and name != "settings":
        yield run[name]
    for full, value in settings.items():
        above = full.removesuffix(f".{name}")
        if above != full and f"{above}.{first}.class" in settings:
            yield value


def _equals(value: Any, text: str) -> bool:
    """Return whether a setting has the value of a string, numbers up to the digits typed."""
    return str(value) == text or same_value(value, _read(text), rel_tol=1e-5)


def _read(text: str) -> Any:
    """Return the value that a string means: a number, true, false, null, a list or a string."""
    if text.startswith("[") and text.endswith("]"):
        return [_read(part.strip()) for part in text[1:-1].split(",")]
    for read in (json.loads, float):
        with suppress(ValueError):
            return read(text)
    return text.strip("'\"")


def rows_where(
    tables: Mapping[str, pd.DataFrame], conditions: Iterable[Condition]
) -> Mapping[str, pd.DataFrame]:
    """Return the rows of runs that meet all conditions; empty tables are left out.

    Raises:
        UserError: if no run has a setting, or none has the value.
    """
    for condition in conditions:
        kept = matching_rows(tables, condition.rows)
        if not kept:
            raise _no_run(tables, condition)
        tables = kept
    return tables


def _no_run(tables: Mapping[str, pd.DataFrame], condition: Condition) -> UserError:
    """Return the error for a condition that no run meets."""
    rows = [run for table in tables.values() for run in table.to_dict("records")]
    found = {format_value(value) for run in rows for value in values_of(run, condition.name)}
    if found:
        return UserError(
            f"{OPTION}: no run has {condition.name}={condition.value} (found: "
            f"{list_names(sorted(found), str(condition.value))}).",
            OPTION,
            "no_run",
        )
    names = sorted({name for run in rows for name in run["settings"]})
    ends = (name for name in names if name.rpartition(".")[2] == condition.name)
    close = closest_match(condition.name, names) or next(ends, None)
    hint = f"; did you mean {close!r}?" if close else "; see `bnnbench run --cfg job`."
    return UserError(
        f"{OPTION}: no run has the setting {condition.name!r}{hint}", OPTION, "unknown_name"
    )


def is_trial(table: pd.DataFrame) -> pd.Series:
    """Return which runs are trials: those under `protocol=trial`."""
    return table.get(PROTOCOL, pd.Series("", table.index)) == TRIAL


@dataclass(frozen=True)
class RunFilter:
    """What a report shows, in this order; an empty field means everything, in the default order.

    Attributes:
        methods: labels of methods, as tables name them.
        datasets: names of data sets.
        metrics: keys of `metric_table.BY_KEY`.
        where: settings that the runs must have.
        trials: whether trial runs are included.
    """

    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    trials: bool = True

    def __post_init__(self) -> None:
        check_known_names("--metric", self.metrics, BY_KEY)

    def metrics_or(self, defaults: Sequence[Metric]) -> tuple[Metric, ...]:
        """Return the requested metrics, or the defaults if none were requested."""
        return tuple(BY_KEY[key] for key in self.metrics) or tuple(defaults)

    def metrics_among(self, supported: Sequence[Metric]) -> tuple[Metric, ...]:
        """Return the requested metrics that are supported; all of these if none were requested."""
        return tuple(metric for metric in self.metrics_or(supported) if metric in supported)


NO_FILTER = RunFilter()


def filter_runs(runs: Runs, selection: RunFilter) -> Runs:
    """Return the selected runs, with their tables in the requested order.

    A method may be one of the user's file.

    Raises:
        UserError: if a name is unknown, or no run is left.
    """
    if not (selection.trials or any(one.name == PROTOCOL for one in selection.where)):
        runs = without_trials(runs)
    if selection.where:
        runs = with_tables(runs, rows_where(runs.tables, selection.where))
    columns = {"method": selection.methods, "dataset": selection.datasets}
    for column, option in (("method", "--methods"), ("dataset", "--datasets")):
        check_known_names(option, columns[column], dict.fromkeys(available_names(runs, column)))
    return select_runs(runs, columns) if any(columns.values()) else runs


def select_runs(runs: Runs, columns: Mapping[str, Sequence[str]]) -> Runs:
    """Return the runs with the requested methods and data sets.

    Args:
        runs: the runs.
        columns: requested names by column; none means all.

    Raises:
        UserError: if there are none.
    """
    tables = matching_rows(runs.tables, lambda table: select_rows(table, columns))
    if not tables:
        description = " on ".join(" or ".join(names) for names in columns.values() if names)
        option = "--methods" if columns["method"] else "--datasets"
        raise UserError(f"{runs.path} contains no finished run of {description}.", option, "no_run")
    published = select_rows(runs.user_published, columns)
    return replace(with_tables(runs, tables), user_published=published)


def without_trials(runs: Runs) -> Runs:
    """Return the runs without those under `protocol=trial`, and a note on these.

    Raises:
        UserError: if none is left.
    """
    trials = sum(int(is_trial(table).sum()) for table in runs.tables.values())
    if not trials:
        return runs
    tables = matching_rows(runs.tables, lambda table: table[~is_trial(table)])
    if not tables:
        raise UserError(
            f"{runs.path} contains trial runs only (protocol=trial), which are not results; "
            "include them with --trials.",
            "--trials",
            "only_trials",
        )
    text = f"left out {quantity(trials, 'trial run')} (protocol=trial); --trials includes them"
    return replace(with_tables(runs, tables), left_out=(*runs.left_out, text))


def with_tables(runs: Runs, tables: Mapping[str, pd.DataFrame]) -> Runs:
    """Return the runs in some rows of their tables, with everything that belongs to them."""
    tables = {**tables}
    digests = {str(run) for table in tables.values() for run in table.index}
    splits = runs.splits[runs.splits["run"].isin(digests)] if len(runs.splits) else runs.splits
    if KIND in tables:  # the others may have had more splits
        tables[KIND] = with_incomplete(tables[KIND], splits)
    return replace(
        runs,
        tables=tables,
        splits=splits,
        folders={run: folder for run, folder in runs.folders.items() if run in digests},
        calibrations={
            run: calibration for run, calibration in runs.calibrations.items() if run in digests
        },
        _cache={},
    )


def available_names(runs: Runs, column: str) -> list[str]:
    """Return all methods or data sets of the runs and the user's file, in alphabetical order."""
    tables = [table for table in (*runs.tables.values(), runs.user_published) if column in table]
    return sorted({str(name) for table in tables for name in table[column]})


def select_rows(table: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return the rows with the requested names, sorted by data set and method in their order.

    Args:
        table: rows with some of the columns; the result is empty if a requested column is missing.
        columns: requested names by column; none means all.
    """
    requested = {column: list(names) for column, names in columns.items() if names}
    if not requested.keys() <= {*table.columns}:
        return table.iloc[:0]
    rows = table
    for column, names in requested.items():
        rows = rows[rows[column].isin(names)]
    for column in ("method", "dataset"):  # the last sorts first
        if column in requested:
            rows = rows.sort_values(
                column, key=lambda c: c.map(requested[c.name].index), kind="stable"
            )
        elif column in rows:
            rows = rows.sort_values(column, kind="stable")
    return rows
