"""Scores as a function of the order alpha of a family of divergences (GVI thesis, Fig. 5.2)."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.metrics import Metric, printed_in

MIN_ORDERS = 3
"""Minimum number of orders of a family."""

SHARED_COLUMNS = ["dataset", "method", "likelihood", "loss", "depth"]
"""Settings that all runs of a family share."""


def with_orders(table: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of families with at least `MIN_ORDERS` orders, by family and order.

    Args:
        table: rows of `Runs.scored`.
    """
    rows = table[table["order"].notna()]
    keys = [*SHARED_COLUMNS, "experiment", "divergence_family"]
    orders = rows.groupby(keys)["order"].transform("nunique")
    return rows[orders >= MIN_ORDERS].sort_values([*keys, "order"]).astype({"order": float})


def kl_reference(table: pd.DataFrame, group: pd.DataFrame) -> pd.Series | None:
    """Return the KL run with the settings of a group; of several, the one with the most splits.

    Args:
        table: rows of `Runs.scored`.
        group: some of these rows.
    """
    first = group.iloc[0]
    same = (table[SHARED_COLUMNS] == first[SHARED_COLUMNS]).all(axis=1) & (
        table["divergence"] == "kl"
    )
    kl = table[same].sort_values("splits", ascending=False, kind="stable")
    return kl.iloc[0] if len(kl) else None


def losses_by_order(group: pd.DataFrame, metric: Metric) -> pd.Series:
    """Return the mean of a score by order as a loss, without missing values.

    Args:
        group: rows of `with_orders` of one family and data set.
        metric: the score.
    """
    return (metric.sign * group.set_index("order")[f"{metric.key}_mean"]).dropna()


def best_orders(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the best order per data set, family and score, and the mean losses below and above 1.

    Args:
        rows: rows of `with_orders` of one method and depth.

    Returns:
        Columns `dataset`, `divergence_family`, `metric`, `order` (the best), its `mean` and
        `stderr`, `below` and `above`; lower is better, missing if there is no such order.
    """
    tables = []
    for (dataset, family), group in rows.groupby(["dataset", "divergence_family"], sort=False):
        for metric in printed_in("figures"):
            losses = losses_by_order(group, metric)
            if losses.empty:
                continue
            best = losses.idxmin()
            run = group[group["order"] == best].iloc[0]
            tables.append({
                "dataset": dataset, "divergence_family": family, "metric": metric.key,
                "order": best, "mean": metric.sign * run[f"{metric.key}_mean"],
                "stderr": run[f"{metric.key}_stderr"],
                "below": losses[losses.index < 1].mean(),
                "above": losses[losses.index > 1].mean(),
            })  # fmt: skip
    return pd.DataFrame(tables)
