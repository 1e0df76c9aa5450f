"""Scores of every split as losses, lower is better (GVI thesis, Figs. 5.4-5.6)."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.divergence_orders import with_orders
from bnnbench.results.labels import labels
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs

MIN_SPLITS = 2
LABEL_COLUMNS = ("dataset", "depth", "label")


def losses_by_split(runs: Runs) -> pd.DataFrame:
    """Return a row per split that did not diverge, for every run on several splits.

    Families of orders are left out: their scores are plotted against the order.

    Returns:
        Columns `run`, `split`, `LABEL_COLUMNS` (`label` without the depth) and the metrics shown
        in figures.
    """
    table = runs.scored
    if table.empty:
        return pd.DataFrame()
    grid = table.index.isin(with_orders(table).index)
    table = table[(table["splits"] >= MIN_SPLITS) & ~grid]
    if table.empty:
        return pd.DataFrame()
    names = table.assign(label=labels(table, ignore=("depth",)))[list(LABEL_COLUMNS)]
    splits = runs.splits[runs.splits["diverged"] == 0]
    losses = {metric.key: metric.sign * splits[metric.key] for metric in printed_in("figures")}
    return splits[["run", "split"]].assign(**losses).join(names, on="run", how="inner")
