"""Distinct names of the runs in a table; of several seeds, one run is kept."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnnbench.results.read.configurations import configuration
from bnnbench.results.read.labels import distinguishing_suffixes


def distinct_names(names: pd.Series, table: pd.DataFrame, by: Sequence[str]) -> pd.Series:
    """Return the names of runs, distinct within each group of a table.

    Of several seeds of a configuration, the run with most splits is kept, then that with the lowest
    seed: scores never decide. Other configurations of a name get what distinguishes them appended,
    as in `labels.labels`.

    Args:
        names: by run.
        table: rows of `Runs.scored` of these runs.
        by: columns of the groups, such as the data set.

    Returns:
        The names of the runs that are kept, in the order of the table.
    """
    keys = table[[*by]].assign(name=names)
    own = table["settings"].map(lambda settings: configuration({**settings, "seed": None}))
    seeds = table["settings"].map(lambda settings: settings.get("seed", 0))
    order = keys.assign(own=own, fewer=-table["splits"], seed=seeds)
    order = order.sort_values(["fewer", "seed"], kind="stable")
    repeated = order.index[order.duplicated([*keys, "own"])]
    kept = table.index[~table.index.isin(repeated)]
    keys, found = keys.loc[kept], names.loc[kept].astype(str)
    shared = keys[keys.duplicated(keep=False)]
    if shared.empty:
        return found
    alike = pd.Series(shared.groupby([*shared]).ngroup(), shared.index)
    for rows in found.groupby(found).groups.values():
        found.loc[rows] += distinguishing_suffixes(table.loc[rows], alike.reindex(rows))
    return found
