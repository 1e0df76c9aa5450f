"""Which runs have the same configuration under different names, so that each counts once.

A preset may set what is the default anyway, and two experiments may share their settings. Such runs
differ in their labels only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from bnnbench.experiment.store.split_files import KIND
from bnnbench.notes import join_words
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


def representatives(table: pd.DataFrame) -> pd.Series:
    """Return the run that represents each configuration on a data set.

    It is a complete and ranked one, of the method and experiment with most data sets; of several,
    the one with the name of the family, or the first in alphabetical order.

    Args:
        table: rows of `Runs.scored`.

    Returns:
        The digest of the representing run, by run.
    """
    names = ["method", "experiment"]
    order = pd.DataFrame({
        **{name: table[name] != "" for name in ("incomplete", "unranked") if name in table},
        "datasets": -table.groupby(names)["dataset"].transform("nunique"),
        "preset": table["method"] != table["family"],
        **{name: table[name].astype(str) for name in names},
    })  # fmt: skip
    ordered = table.loc[order.sort_values([*order], kind="stable").index]
    digests = ordered.index.to_series()
    keys = [ordered["dataset"], ordered["settings"].map(configuration)]
    return digests.groupby(keys).transform("first").reindex(table.index)


def without_duplicates(runs: Runs) -> Runs:
    """Return the runs with one of each configuration on a data set, and a note on the others."""
    if runs.scored.empty:
        return runs
    chosen = representatives(runs.scored)
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
