"""The scores of every split with the sign by which lower is better (GVI thesis, Figs. 5.4-5.6)."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.divergence_orders import with_orders
from bnnbench.results.labels import labels
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs

LEAST_SPLITS = 2
NAMED = ("dataset", "depth", "label")


def losses_by_split(runs: Runs) -> pd.DataFrame:
    """A row per split that did not diverge of every run, but of runs on one split.

    Families of orders are left out: those stand against their order.

    Returns:
        Columns `run`, `split`, those of `NAMED` (`label` leaves out the depth) and each metric of
        the figures.
    """
    table = runs.scored
    if table.empty:
        return pd.DataFrame()
    grid = table.index.isin(with_orders(table).index)
    table = table[(table["splits"] >= LEAST_SPLITS) & ~grid]
    if table.empty:
        return pd.DataFrame()
    names = table.assign(label=labels(table, aside=("depth",)))[list(NAMED)]
    splits = runs.splits[runs.splits["diverged"] == 0]
    losses = {metric.key: metric.sign * splits[metric.key] for metric in printed_in("figures")}
    return splits[["run", "split"]].assign(**losses).join(names, on="run", how="inner")
