"""Which finished runs a reader wants to see, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from bnnbench.results.metrics import BY_KEY, Metric
from bnnbench.results.reader import Runs
from bnnbench.types import UserError


def check_known(option: str, names: Sequence[str], known: Mapping[str, object]) -> None:
    """Refuses a name that stands for nothing.

    Args:
        option: that it was given to.
        names: what was given.
        known: what there is, by name.

    Raises:
        UserError: naming it, and what there is.
    """
    for name in names:
        if name not in known:
            there = ", ".join(map(str, known)) or "nothing"
            raise UserError(f"{option}: there is no {name!r} here, but {there}.")


@dataclass(frozen=True)
class Choice:
    """What is wanted, in the order wanted; nothing means everything, in the usual order.

    Attributes:
        methods: labels of methods, as tables name them.
        datasets: names of data sets.
        metrics: keys of `metrics.METRICS`.
    """

    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_known("--metric", self.metrics, BY_KEY)

    def wanted(self, usual: Sequence[Metric]) -> tuple[Metric, ...]:
        """The metrics to show where some are usual."""
        return tuple(BY_KEY[key] for key in self.metrics) or tuple(usual)

    def among(self, usual: Sequence[Metric]) -> tuple[Metric, ...]:
        """Those to show where no others can be: the usual ones that are wanted."""
        return tuple(metric for metric in self.wanted(usual) if metric in usual)


EVERYTHING = Choice()
"""In the usual order."""


def chosen(runs: Runs, choice: Choice) -> Runs:
    """The runs that are wanted, their tables in the order wanted.

    Args:
        runs: of `read_runs`, with what the reader brought to stand beside them.
        choice: some of their methods and data sets; a method may be one that was brought.

    Raises:
        UserError: if a name is unknown, or no run is left.
    """
    columns = {"method": choice.methods, "dataset": choice.datasets}
    for column, option in (("method", "--methods"), ("dataset", "--datasets")):
        check_known(option, columns[column], dict.fromkeys(names_in(runs, column)))
    if not any(columns.values()):
        return runs
    tables = {kind: picked(table, columns) for kind, table in runs.tables.items()}
    tables = {kind: table for kind, table in tables.items() if len(table)}
    if not tables:
        what = " on ".join(" or ".join(names) for names in columns.values() if names)
        raise UserError(f"{runs.path} holds no finished run of {what}.")
    kept = {str(run) for table in tables.values() for run in table.index}
    own = runs.splits["run"].isin(kept) if len(runs.splits) else slice(None)
    return replace(
        runs,
        tables=tables,
        splits=runs.splits[own],
        folders={run: folder for run, folder in runs.folders.items() if run in kept},
        calibrations={run: found for run, found in runs.calibrations.items() if run in kept},
        beside=picked(runs.beside, columns),
        _made={},
    )


def names_in(runs: Runs, column: str) -> list[str]:
    """Every method or data set of the runs and of what was brought, in alphabetical order."""
    tables = [table for table in (*runs.tables.values(), runs.beside) if column in table]
    return sorted({str(name) for table in tables for name in table[column]})


def picked(table: pd.DataFrame, columns: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """The rows whose names are among those wanted, sorted by data set and method as these are.

    Args:
        table: rows with some of the columns; without one of which names are wanted it is empty.
        columns: by column the names wanted, all of them if there are none.
    """
    wanted = {column: list(names) for column, names in columns.items() if names}
    if not wanted.keys() <= {*table.columns}:
        return table.iloc[:0]
    kept = table
    for column, names in wanted.items():
        kept = kept[kept[column].isin(names)]
    for column in ("method", "dataset"):  # the last sorts first
        if column in wanted:
            kept = kept.sort_values(
                column, key=lambda c: c.map(wanted[c.name].index), kind="stable"
            )
        elif column in kept:
            kept = kept.sort_values(column, kind="stable")
    return kept
