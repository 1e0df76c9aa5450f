"""Filter the runs, data sets and metrics of a report, and order them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from bnnbench.experiment.store.split_files import KIND
from bnnbench.near_names import check_known_names
from bnnbench.notes import quantity
from bnnbench.results.metric_table import BY_KEY, Metric
from bnnbench.results.read.completeness import with_incomplete
from bnnbench.results.read.run_tables import Runs, matching_rows
from bnnbench.results.read.setting_filter import PROTOCOL, Condition, is_trial, rows_where
from bnnbench.types import UserError


@dataclass(frozen=True)
class RunFilter:
    """What a report shows, in this order; an empty field means everything, in the default order.

    Attributes:
        methods: labels of methods, as tables name them.
        datasets: names of data sets.
        metrics: keys of `metrics.BY_KEY`.
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
