"""Which runs have the same configuration, and which of them represents the others.

A preset may set what is the default anyway, and two experiments may share their settings. Such runs
differ in their labels only, and count once. Where a name has one row, one of its seeds is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from bnnbench.experiment.store.split_files import KIND
from bnnbench.notes import join_words
from bnnbench.results.read.labels import with_suffixes
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.settings import TECHNICAL_SETTINGS, Settings


def configuration(settings: Settings) -> frozenset[tuple[str, str]]:
    """Return everything that determines the scores of a run up to rounding: no labels.

    Args:
        settings: by dotted name (`settings.flatten`).
    """
    labels = {"experiment", *(name for name in settings if f"{name}.class" in settings)}
    ignored = {*TECHNICAL_SETTINGS, *labels} - {"dataset"}
    return frozenset((name, str(value)) for name, value in settings.items() if name not in ignored)


def representatives(
    table: pd.DataFrame, order: Mapping[str, pd.Series], keys: Sequence[pd.Series]
) -> pd.Series:
    """Return the digest of the run that represents each group of runs, by run.

    Args:
        table: the runs.
        order: values by run, most important first; the first run of a group represents it, of
            equal ones the first in the table.
        keys: values by run in which the runs of a group agree.
    """
    ordered = pd.DataFrame(order, table.index).sort_values([*order], kind="stable")
    digests = ordered.index.to_series()
    groups = [key.loc[ordered.index] for key in keys]
    return digests.groupby(groups, sort=False, dropna=False).transform("first").loc[table.index]


def preset_order(table: pd.DataFrame, names: Sequence[str]) -> dict[str, pd.Series]:
    """Return an order of presets for `representatives`.

    First is the preset on most data sets; of several, the one with the name of the family, or the
    first in alphabetical order.

    Args:
        table: the runs.
        names: columns that tell the presets apart.
    """
    return {
        "datasets": -table.groupby([*names])["dataset"].transform("nunique"),
        "other_name": table["method"] != table["family"],
        **{name: table[name].astype(str) for name in names},
    }


def one_name_each(table: pd.DataFrame) -> pd.Series:
    """Return the digest of the run that represents each configuration on a data set, by run.

    It is a complete and ranked one, of the first method and experiment in `preset_order`.

    Args:
        table: rows of `Runs.scored`.
    """
    names = [name for name in ("incomplete", "unranked") if name in table]
    order = {name: table[name] != "" for name in names}
    keys = [table["dataset"], table["settings"].map(configuration)]
    return representatives(table, order | preset_order(table, ["method", "experiment"]), keys)


def one_seed_each(table: pd.DataFrame, keys: Sequence[pd.Series]) -> pd.Series:
    """Return the digest of the run that represents all seeds of a configuration, by run.

    It is the run with most splits, then that with the lowest seed: scores never decide.

    Args:
        table: rows of `Runs.scored`.
        keys: values by run in which the seeds agree, besides the configuration.
    """
    own = table["settings"].map(lambda settings: configuration({**settings, "seed": None}))
    seeds = table["settings"].map(lambda settings: settings.get("seed", 0))
    order = {"fewer": -table["splits"], "seed": seeds}
    return representatives(table, order, [*keys, own])


def distinct_names(names: pd.Series, table: pd.DataFrame, by: Sequence[str]) -> pd.Series:
    """Return the names of runs, distinct within each group of a table.

    Of several seeds of a configuration, one run is kept. Other configurations of a name get what
    distinguishes them appended, as in `labels.labels`.

    Args:
        names: by run.
        table: rows of `Runs.scored` of these runs.
        by: columns of the groups, such as the data set.

    Returns:
        The names of the runs that are kept, in the order of the table.
    """
    chosen = one_seed_each(table, [*(table[column] for column in by), names])
    kept = table[chosen == chosen.index]
    found, groups = names[kept.index].astype(str), [kept[column] for column in by]
    is_distinct = not pd.concat([*groups, found], axis=1).duplicated().any()
    return found if is_distinct else with_suffixes(found, kept, groups)


def without_duplicates(runs: Runs) -> Runs:
    """Return the runs with one of each configuration on a data set, and a note on the others."""
    if runs.scored.empty:
        return runs
    chosen = one_name_each(runs.scored)
    kept = runs.scored[chosen == chosen.index]
    if len(kept) == len(runs.scored):
        return runs
    return replace(
        runs,
        tables={**runs.tables, KIND: kept},
        splits=runs.splits[runs.splits["run"].isin(kept.index)],
        left_out=(*runs.left_out, *_messages(runs.scored, chosen)),
        _cache={},
    )


def _messages(table: pd.DataFrame, chosen: pd.Series) -> Iterator[str]:
    """Yield a sentence for each name that another one represents."""
    rest = table[chosen != chosen.index]
    pairs = zip(
        rest.to_dict("records"), table.loc[chosen[rest.index]].to_dict("records"), strict=True
    )
    found: dict[tuple[str, str], list[str]] = {}
    for run, other in pairs:
        names = [one["method"] for one in (run, other)]
        if names[0] == names[1]:
            names = [f"{one['method']} of experiment {one['experiment']}" for one in (run, other)]
        found.setdefault((names[0], names[1]), []).append(str(run["dataset"]))
    for (name, other), datasets in found.items():
        yield f"{name} on {join_words(datasets)}: same configuration as {other}, counted once"
