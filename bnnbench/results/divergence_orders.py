"""Scores against the order alpha of families of divergences (GVI thesis, Fig. 5.2)."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.metrics import Metric, printed_in

LEAST_ORDERS = 3
"""Of one family, from which on scores stand against the order."""

SETTINGS = ["dataset", "method", "likelihood", "loss", "depth"]
"""What a family's runs share."""


def with_orders(table: pd.DataFrame) -> pd.DataFrame:
    """The runs that belong to a family of at least `LEAST_ORDERS` orders, by family and order.

    Args:
        table: rows of `Runs.scored`.
    """
    rows = table[table["order"].notna()]
    keys = [*SETTINGS, "experiment", "divergence_family"]
    orders = rows.groupby(keys)["order"].transform("nunique")
    return rows[orders >= LEAST_ORDERS].sort_values([*keys, "order"]).astype({"order": float})


def reference(table: pd.DataFrame, group: pd.DataFrame) -> pd.Series | None:
    """The KL run with the settings of a group of runs; of several, that of most splits.

    Args:
        table: rows of `Runs.scored`.
        group: some of them.
    """
    first = group.iloc[0]
    same = (table[SETTINGS] == first[SETTINGS]).all(axis=1) & (table["divergence"] == "kl")
    kl = table[same].sort_values("splits", ascending=False, kind="stable")
    return kl.iloc[0] if len(kl) else None


def losses_by_order(group: pd.DataFrame, metric: Metric) -> pd.Series:
    """The mean of a score by order, with the sign by which lower is better; gaps left out.

    Args:
        group: of `with_orders`, of one family and data set.
        metric: the score.
    """
    return (metric.sign * group.set_index("order")[f"{metric.key}_mean"]).dropna()


def best_orders(rows: pd.DataFrame) -> pd.DataFrame:
    """Per data set, family and score: the best order, and the means below and above 1.

    Args:
        rows: of `with_orders`, of one method and depth.

    Returns:
        Columns `dataset`, `divergence_family`, `metric`, `order` (the best), `mean` and `stderr`
        there, `below` and `above`; lower is better, missing where there is no such order.
    """
    found = []
    for (dataset, family), group in rows.groupby(["dataset", "divergence_family"], sort=False):
        for metric in printed_in("figures"):
            losses = losses_by_order(group, metric)
            if losses.empty:
                continue
            best = losses.idxmin()
            run = group[group["order"] == best].iloc[0]
            found.append({
                "dataset": dataset, "divergence_family": family, "metric": metric.key,
                "order": best, "mean": metric.sign * run[f"{metric.key}_mean"],
                "stderr": run[f"{metric.key}_stderr"],
                "below": losses[losses.index < 1].mean(),
                "above": losses[losses.index > 1].mean(),
            })  # fmt: skip
    return pd.DataFrame(found)
