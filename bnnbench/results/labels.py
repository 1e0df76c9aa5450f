"""Names of runs for readers: as short as they can be and still tell the runs apart."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

APART = {
    "divergence": "{}",
    "likelihood": "{}",
    "loss": "{}",
    "depth": "depth {}",
    "experiment": "{}",
    "variant": "{}",
}
"""Columns that may tell runs of one method apart, in the order in which they are tried."""


def labels(table: pd.DataFrame, aside: Sequence[str] = ()) -> pd.Series:
    """A name for each row, unique among the rows of its data set.

    The method's label, followed where several runs share it by whatever tells them apart:
    divergence, likelihood, loss, depth, experiment and, if all those agree, the variant's folder.

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
        names = names.where(values == 1, names + " · " + table[column].map(form.format))
    return names.rename("label")
