"""Labels of runs and of their data sets in tables and figures: as short as possible, yet distinct.

Two tables of the user never share one name. A run was computed from the data whose fingerprint is
`data` in its record: `north/flow.csv` and `south/flow.csv` are two data sets, and so are two
versions of one file, or two targets in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from bnnbench.notes import one_line
from bnnbench.results.published.protocol import (
    UNSET_SETTINGS,
    expected_settings,
    has_protocol,
    noise_differences,
    protocol_settings,
    settings_differing_from,
    with_components,
)
from bnnbench.results.settings import (
    ABSENT,
    describe_setting,
    describe_settings,
    differing_from,
    distinguishing_settings,
    without_implied,
)

DISTINGUISHING_COLUMNS = {
    "divergence": "{}",
    "likelihood": "{}",
    "loss": "{}",
    "depth": "depth {}",
    "experiment": "{}",
}
"""Columns that may distinguish runs of one method, with the text added to the label, in the order
in which they are tried."""

NAMED_SETTINGS = ("likelihood", "likelihood.loss", "network.depth")
"""Settings of these columns."""

DEFAULT_VALUES = {"divergence": "kl", "likelihood": "gaussian", "loss": "nll", "depth": 1}
"""Values that the name of a single run leaves out."""

SEPARATOR = ", "
"""Separates the parts of a label."""

MAX_LISTED = 3
"""Up to this many experiments or seeds are named in a figure's title; more are counted."""


def labels(table: pd.DataFrame, ignore: Sequence[str] = ()) -> pd.Series:
    """Return a label for each row: one per configuration, unique among the rows of its data set.

    The label is the method's. If several runs on a data set share it, whatever distinguishes them
    is added on all data sets: divergence, likelihood, loss, depth and experiment; then every
    setting in which the remaining ones differ, unless it has the value of the published protocol:
    `vadam`, `vadam, epochs 5` and `vadam, width 20`. So is whatever distinguishes runs on different
    data sets, except the experiment and what the protocol sets by data set. The variant's folder is
    added only if nothing else differs.

    Args:
        table: rows of `Runs.scored`.
        ignore: columns that the reader sees elsewhere, by position or colour. Rows that differ
            only in these may share a label.

    Returns:
        The labels under the index of `table`. They are for printing; to join, use the index.
    """
    names = table["method"].astype(str)
    groups = [table[column] for column in ("dataset", *ignore)]
    for column, form in DISTINGUISHING_COLUMNS.items():
        within = [*groups, names] if column in ("experiment", *ignore) else [names]
        differ = table.groupby(within)[column].transform("nunique") > 1
        differ = differ.groupby(names).transform("any")
        names = names.where(~differ, names + SEPARATOR + table[column].map(form.format))
    return with_suffixes(names, table, groups).rename("label")


def with_suffixes(names: pd.Series, table: pd.DataFrame, groups: Sequence[pd.Series]) -> pd.Series:
    """Return names that are distinct within each group, as settings are appended to shared ones.

    Args:
        names: by run.
        table: rows of `Runs.scored` of these runs.
        groups: values by run in which the runs of a group agree.
    """
    keys = pd.concat([*groups, names], axis=1)
    shared = keys[keys.duplicated(keep=False)]
    alike = pd.Series(shared.groupby([*shared.to_numpy().T]).ngroup(), shared.index)
    found = names.copy()
    for rows in names.groupby(names).groups.values():
        found.loc[rows] += distinguishing_suffixes(table.loc[rows], alike.reindex(rows))
    return found


def full_name(names: Mapping[str, Any]) -> str:
    """Return the name of one run: `vadam on boston, depth 2, seed 0, experiment uci`."""
    unusual = [
        DISTINGUISHING_COLUMNS[column].format(names[column])
        for column, default in DEFAULT_VALUES.items()
        if names[column] != default
    ]
    first = f"{names['method']} on {names['dataset']}"
    last = f"seed {names['seed']}", f"experiment {names['experiment']}"
    return SEPARATOR.join((first, *unusual, *last))


def short_name(names: Mapping[str, Any]) -> str:
    """Return the title of one run's tables and figures: `boston, vadam`."""
    return SEPARATOR.join((names["dataset"], names["method"]))


def common_settings(table: pd.DataFrame) -> str:
    """Return what the runs of a figure have in common: `experiment book_uci · seed 0`.

    Runs with tracks, which are compared with reference results, are named by these: `track book`.
    """
    parts = []
    for column in ("track" if "track" in table else "experiment", "seed"):
        values = sorted(table[column].astype(str).unique())
        text = SEPARATOR.join(values) if len(values) <= MAX_LISTED else f"{len(values)}"
        noun = f"{column}s" if len(values) > 1 else column
        parts.append(f"{text} {noun}" if len(values) > MAX_LISTED else f"{noun} {text}")
    return " · ".join(parts)


def marked_labels(table: pd.DataFrame, ignore: Sequence[str] = ()) -> pd.Series:
    """Return `labels`, marked where a run deviates from the published protocol.

    The mark lists the differences that the label does not: `vadam, epochs 5 (settings differ: 2 of
    20 splits)`.
    """
    names = labels(table, ignore)
    pairs = zip(names, table["mark"], strict=True)
    return pd.Series(
        [name + difference_mark(differences, name) for name, differences in pairs],
        names.index,
        name="label",
    )


def common_marked_labels(table: pd.DataFrame) -> pd.Series:
    """Return `labels` with the same mark on all data sets, for results over data sets.

    The mark names the data sets of differences that not all of them share.
    """
    names = labels(table)
    marks = {label: common_mark(own) for label, own in table.groupby(names)}
    return names.map(lambda name: name + difference_mark(marks[name], name))


def common_mark(table: pd.DataFrame) -> str:
    """Return the differences of the runs of one label from the published protocol."""
    if table["mark"].nunique() == 1:
        return str(table["mark"].iloc[0])
    marks = table[table["mark"] != ""].groupby("mark", sort=False)["dataset"]
    return "; ".join(f"{mark} on {', '.join(datasets)}" for mark, datasets in marks)


def difference_mark(differences: str, name: str = "") -> str:
    """Return the suffix that marks a run whose settings deviate from the published protocol.

    `name` is the label, which may list some of the differences already.
    """
    in_name = name.split(SEPARATOR)
    unlisted = [part for part in differences.split(SEPARATOR) if part not in in_name]
    suffix = f": {SEPARATOR.join(unlisted)}" if unlisted else ""
    return f" (settings differ{suffix})" if differences else ""


def distinguishing_suffixes(table: pd.DataFrame, alike: pd.Series) -> list[str]:
    """Return the suffixes that distinguish runs that share a label.

    Args:
        table: the runs.
        alike: the same number for runs that share the label on one data set; missing for others.
    """
    groups = [own for _, own in table.groupby(alike)]
    by_group = [distinguishing_settings([*own["settings"]]) for own in groups]
    names = (*dict.fromkeys(chain(*by_group, deviating_settings(table))),)
    runs = table.to_dict("records")
    parts = pd.Series([(*unusual_settings(run, names),) for run in runs], table.index)
    if any(parts[own.index].duplicated().any() for own in groups):  # the differences were left out
        parts = parts.index.to_series().map(
            lambda run: tuple(describe_setting(n, table["settings"][run].get(n)) for n in names)
        )
    for own, found in zip(groups, by_group, strict=True):
        if not found:
            parts[own.index] += own["variant"].map(lambda variant: (str(variant),))
    return ["".join(SEPARATOR + part for part in run_parts) for run_parts in parts]


def deviating_settings(table: pd.DataFrame) -> Iterator[str]:
    """Yield the settings in which only some runs deviate from the published protocol.

    A run with another noise model is another model, and not compared with the protocol.
    """
    if "settings_differ" not in table or table["settings_differ"].nunique() < 2:
        return
    found = [
        settings_differing_from(run, protocol_settings(run))
        for run in table.to_dict("records")
        if has_protocol(run) and not noise_differences(run)
    ]
    for name in dict.fromkeys(chain(*found)):
        if (
            name not in NAMED_SETTINGS
            and len({str(settings.get(name, ABSENT)) for settings in found}) > 1
        ):
            yield name


def unusual_settings(run: Mapping[Any, Any], names: Sequence[str]) -> list[str]:
    """Describe those of the named settings in which a run deviates from the protocol.

    `final_epochs` is left out where it equals `epochs`, and so are settings of another search.
    """
    settings, expected = with_components(run["settings"]), dict[str, Any]()
    if has_protocol(run):
        expected = {**UNSET_SETTINGS, **expected_settings(run)}
    expected = {name: expected.get(name, ABSENT) for name in names if name in settings}
    return describe_settings(without_implied(differing_from(settings, expected)))


DATA, FILE = "data", "file"
"""Columns with the fingerprint of a run's data, and the user's file with its folder."""

NAME, TARGET = "table", "dataset.target"
"""The settings with the label of a table and with the name of its target."""

SHORT = 6
"""Digits of a fingerprint in a name."""


def distinct_data_sets(tables: Iterable[pd.DataFrame]) -> dict[str, str]:
    """Return another name for the data set of each run whose table shares its name with another.

    The name is followed by the file, the target and the beginning of the fingerprint, as far as
    these are needed. Tables that are not files of the user keep their names.

    Args:
        tables: rows of `Runs.tables`.

    Returns:
        The names by run.
    """
    described = [table for table in tables if {DATA, FILE} <= {*table.columns}]
    if not described:
        return {}
    rows = pd.concat([one[[DATA, FILE, "settings"]] for one in described]).dropna()
    names = rows["settings"].map(lambda settings: str(settings.get(NAME)))
    targets = rows["settings"].map(lambda settings: f"target {settings.get(TARGET)}")
    for part in (rows[FILE].map(one_line), targets.map(one_line), rows[DATA].str[:SHORT]):
        shared = rows.groupby(names)[DATA].transform("nunique") > 1
        names = names.where(~shared, names + " (" + part + ")")
    return {str(run): name for run, name in names[rows[FILE] != ""].items()}


def renamed(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return a table of runs or of their splits with new names of data sets, by run."""
    if not names or "dataset" not in table:
        return table
    runs = table.get("run", table.index)
    new = [names.get(run, old) for run, old in zip(runs, table["dataset"], strict=True)]
    return table.assign(dataset=new)
