"""Labels of runs in tables and figures: as short as possible, yet distinct."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.results.published.protocol import expected_settings, has_protocol
from bnnbench.results.settings import ABSENT, describe_setting, distinguishing_settings

DISTINGUISHING_COLUMNS = {
    "divergence": "{}",
    "likelihood": "{}",
    "loss": "{}",
    "depth": "depth {}",
    "experiment": "{}",
}
"""Columns that may distinguish runs of one method, with the text added to the label, in the order
in which they are tried."""

DEFAULT_VALUES = {"divergence": "kl", "likelihood": "gaussian", "loss": "nll", "depth": 1}
"""Values that the name of a single run leaves out."""

SEPARATOR = ", "
"""Separates the parts of a label."""

MAX_LISTED = 3
"""Up to this many experiments or seeds are named in a figure's title; more are counted."""


def labels(table: pd.DataFrame, ignore: Sequence[str] = ()) -> pd.Series:
    """Return a label for each row, unique among the rows of its data set.

    The label is the method's. If several runs share it, whatever distinguishes them is added:
    divergence, likelihood, loss, depth and experiment; then every setting in which the remaining
    ones differ, unless it has the value of the published protocol: `vadam`, `vadam, epochs 5` and
    `vadam, width 20`. The variant's folder is added only if nothing else differs.

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
        values = table.groupby([*groups, names])[column].transform("nunique")
        names = names.where(values == 1, names + SEPARATOR + table[column].map(form.format))
    keys = pd.concat([*groups, names], axis=1)
    shared = keys[keys.duplicated(keep=False)]
    for rows in shared.groupby([*shared.to_numpy().T]).groups.values():
        names.loc[rows] += distinguishing_suffixes(table.loc[rows])
    return names.rename("label")


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


def difference_mark(differences: str, name: str = "") -> str:
    """Return the suffix that marks a run whose settings deviate from the published protocol.

    `name` is the label, which may list some of the differences already.
    """
    in_name = name.split(SEPARATOR)
    unlisted = [part for part in differences.split(SEPARATOR) if part not in in_name]
    suffix = f": {SEPARATOR.join(unlisted)}" if unlisted else ""
    return f" (settings differ{suffix})" if differences else ""


def distinguishing_suffixes(group: pd.DataFrame) -> list[str]:
    """Return the suffixes that distinguish runs that share a label on one data set."""
    runs = group.to_dict("records")
    names = distinguishing_settings([run["settings"] for run in runs])
    parts = [unusual_settings(run, names) for run in runs]
    if len(set(map(tuple, parts))) < len(runs):  # the differences were left out
        parts = [[describe_setting(n, run["settings"].get(n)) for n in names] for run in runs]
    if not names:
        parts = [[str(run["variant"])] for run in runs]
    return ["".join(SEPARATOR + part for part in run_parts) for run_parts in parts]


def unusual_settings(run: Mapping[Any, Any], names: Sequence[str]) -> list[str]:
    """Describe those of the named settings in which a run deviates from the protocol.

    `final_epochs` is left out where it equals `epochs`.
    """
    settings, expected = run["settings"], expected_settings(run) if has_protocol(run) else {}
    deviating = [
        name for name in names if name in settings and settings[name] != expected.get(name, ABSENT)
    ]
    if "training.epochs" in deviating and settings["training.epochs"] == settings.get(
        "training.final_epochs"
    ):
        deviating = [name for name in deviating if name != "training.final_epochs"]
    return [describe_setting(name, settings[name]) for name in deviating]
