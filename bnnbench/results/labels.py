"""Names of runs for readers: as short as they can be and still tell the runs apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.results.published_protocol import has_protocol, usual_of
from bnnbench.results.settings import ABSENT, spoken, telling

APART = {
    "divergence": "{}",
    "likelihood": "{}",
    "loss": "{}",
    "depth": "depth {}",
    "experiment": "{}",
}
"""Columns that may tell runs of one method apart, in the order in which they are tried."""

USUAL = {"divergence": "kl", "likelihood": "gaussian", "loss": "nll", "depth": 1}
"""What goes unsaid where a run stands alone."""

SEPARATOR = ", "
"""Between the parts of a name."""

MOST_SAID = 3
"""Experiments or seeds that a figure names; more are counted."""


def labels(table: pd.DataFrame, aside: Sequence[str] = ()) -> pd.Series:
    """A name for each row, unique among the rows of its data set.

    The method's label, followed where several runs share it by whatever tells them apart:
    divergence, likelihood, loss, depth and experiment; then every setting in which those that still
    agree differ, but where it is as the published protocol has it: `vadam`, `vadam, epochs 5` and
    `vadam, width 20`. The variant's folder is named only if nothing else differs.

    Args:
        table: rows of `Runs.scored`.
        aside: columns that are shown otherwise, by place or colour: rows that differ in them may
            have one name.

    Returns:
        The names under the index of `table`. They are for printing; to join, use the index.
    """
    names = table["method"].astype(str)
    groups = [table[column] for column in ("dataset", *aside)]
    for column, form in APART.items():
        values = table.groupby([*groups, names])[column].transform("nunique")
        names = names.where(values == 1, names + SEPARATOR + table[column].map(form.format))
    keys = pd.concat([*groups, names], axis=1)
    shared = keys[keys.duplicated(keep=False)]
    for places in shared.groupby([*shared.to_numpy().T]).groups.values():
        names.loc[places] += told_apart(table.loc[places])
    return names.rename("label")


def full_name(names: Mapping[str, Any]) -> str:
    """One run by its record: `vadam on boston, depth 2, seed 0, experiment uci`.

    Args:
        names: of its record.
    """
    unusual = [
        APART[column].format(names[column])
        for column, usual in USUAL.items()
        if names[column] != usual
    ]
    first = f"{names['method']} on {names['dataset']}"
    last = f"seed {names['seed']}", f"experiment {names['experiment']}"
    return SEPARATOR.join((first, *unusual, *last))


def in_common(table: pd.DataFrame) -> str:
    """What a figure over many runs is of: `experiment book_uci, seed 0`.

    Args:
        table: rows of `Runs.scored`.
    """
    parts = []
    for column, several in (("experiment", "experiments"), ("seed", "seeds")):
        found = sorted(table[column].astype(str).unique())
        said = SEPARATOR.join(found) if len(found) <= MOST_SAID else f"{len(found)}"
        before = several if len(found) > 1 else column
        parts.append(f"{said} {before}" if len(found) > MOST_SAID else f"{before} {said}")
    return " · ".join(parts)


def marked_labels(table: pd.DataFrame, aside: Sequence[str] = ()) -> pd.Series:
    """The names for a table, each with a mark where the run departs from the published protocol.

    The mark says in what, as far as the name does not: `vadam, epochs 5 (settings differ: 2 of 20
    splits)`.

    Args:
        table: as for `labels`.
        aside: likewise.
    """
    names = labels(table, aside)
    pairs = zip(names, table["mark"], strict=True)
    return pd.Series([name + mark(words, name) for name, words in pairs], names.index, name="label")


def mark(words: str, name: str = "") -> str:
    """What follows the name of a run whose settings are not those of the published protocol.

    Args:
        words: in what they differ, `settings_differ` of a row of `Runs.scored`.
        name: that says some of it already.
    """
    said_already = name.split(SEPARATOR)
    left = [part for part in words.split(SEPARATOR) if part not in said_already]
    more = f": {SEPARATOR.join(left)}" if left else ""
    return f" (settings differ{more})" if words else ""


def told_apart(group: pd.DataFrame) -> list[str]:
    """What follows the shared name of some runs on one data set."""
    runs = group.to_dict("records")
    names = telling([run["settings"] for run in runs])
    parts = [said(run, names) for run in runs]
    if len(set(map(tuple, parts))) < len(runs):  # what went unsaid told them apart
        parts = [[spoken(n, run["settings"].get(n)) for n in names] for run in runs]
    if not names:
        parts = [[str(run["variant"])] for run in runs]
    return ["".join(SEPARATOR + part for part in own) for own in parts]


def said(run: Mapping[Any, Any], names: Sequence[str]) -> list[str]:
    """The settings of a run under some names, but those that are the protocol's.

    Final fits as long as the others are not mentioned.
    """
    own, usual = run["settings"], usual_of(run) if has_protocol(run) else {}
    other = [name for name in names if name in own and own[name] != usual.get(name, ABSENT)]
    if "training.epochs" in other and own["training.epochs"] == own.get("training.final_epochs"):
        other = [name for name in other if name != "training.final_epochs"]
    return [spoken(name, own[name]) for name in other]
