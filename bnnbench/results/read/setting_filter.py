"""Select runs by their settings: `--where setting=value`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bnnbench.constraints import with_python_numbers
from bnnbench.experiment.store.record import TRIAL
from bnnbench.near_names import closest_match, list_names
from bnnbench.results.published.published_settings import with_components
from bnnbench.results.read.run_tables import matching_rows
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
