"""Scores against the order alpha of families of divergences (GVI thesis, Fig. 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report import blocks
from bnnbench.report.figures import plotting
from bnnbench.results.metric_table import BY_KEY, Metric, printed_in
from bnnbench.results.read.labels import common_settings
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import STATISTICS

MIN_ORDERS = 3
"""Minimum number of orders of a family."""

SHARED_COLUMNS = ["dataset", "method", "likelihood", "loss", "depth"]
"""Settings that all runs of a family share."""

ORDERS_STATEMENT = (
    "Scores against the order alpha of each family of divergences. Lower is better (NLL is the "
    "negative log-likelihood). At alpha = 1 every family except alpha-Jensen-Shannon reduces to "
    "KL. The best order has the lowest mean; means at neighbouring orders often differ by less "
    "than one standard error."
)

COLUMNS = blocks.columns(
    {
        "Data set": "{dataset}",
        "Divergence": "{divergence_family}",
        "Metric": lambda row: BY_KEY[row["metric"]].loss_axis,
    },
    {
        "Best alpha": "{order:g}",
        "Score": blocks.with_stderr("mean", "stderr"),
        "Mean, alpha < 1": "{below:.4g}",
        "Mean, alpha > 1": "{above:.4g}",
    },
)

CAPTION = (
    "Scores against alpha: mean ± standard error over splits, one line per family; dashed line and "
    "band: the same for KL"
)

NAMED = ("experiment", "dataset", "method", "depth", "divergence_family", "order", "splits",
         "diverged")  # fmt: skip


def with_orders(table: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of families with at least `MIN_ORDERS` orders, by family and order."""
    rows = table[table["order"].notna()]
    keys = [*SHARED_COLUMNS, "experiment", "divergence_family"]
    orders = rows.groupby(keys)["order"].transform("nunique")
    return rows[orders >= MIN_ORDERS].sort_values([*keys, "order"]).astype({"order": float})


def kl_reference(table: pd.DataFrame, group: pd.DataFrame) -> pd.Series | None:
    """Return the KL run with the settings of a group; of several, the one with the most splits."""
    first = group.iloc[0]
    same = (table[SHARED_COLUMNS] == first[SHARED_COLUMNS]).all(axis=1) & (
        table["divergence"] == "kl"
    )
    kl = table[same].sort_values("splits", ascending=False, kind="stable")
    return kl.iloc[0] if len(kl) else None


def losses_by_order(group: pd.DataFrame, metric: Metric) -> pd.Series:
    """Return the mean of a score by order as a loss, without missing values.

    `group` has the runs of one family on one data set.
    """
    return (metric.sign * group.set_index("order")[f"{metric.key}_mean"]).dropna()


def best_orders(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the best order per data set, family and score, and the mean losses below and above 1.

    `rows` are those of one method and depth.

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


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Scores against alpha, for families with enough orders."""
    rows = with_orders(runs.scored)
    if rows.empty:
        return
    scores = [f"{metric.key}_{kind}" for metric in printed_in("figures") for kind in STATISTICS]
    yield blocks.Heading("Order of the divergence")
    yield blocks.Paragraph(ORDERS_STATEMENT)
    yield blocks.DataFile("orders", rows[[*NAMED, *scores]])
    keys = ["experiment", "method", "likelihood", "loss", "depth"]
    for number, (key, group) in enumerate(rows.groupby(keys, sort=False), 1):
        experiment, method, _, _, depth = key
        title = f"{method}, depth {depth} · {common_settings(group)}"
        draw = partial(divergence_orders_figure, group, runs.scored, title)
        yield blocks.Heading(f"{experiment}, {method}, depth {depth}", 3)
        yield blocks.fill(COLUMNS, best_orders(group))
        yield blocks.FigureBlock(blocks.numbered_name("orders", number), CAPTION, draw)


def divergence_orders_figure(rows: pd.DataFrame, table: pd.DataFrame, title: str = "") -> Figure:
    """Draw a row of panels per score, a column per data set, and a line per family.

    `rows` are from `with_orders`, for one method and depth; `table` has all runs, for the KL
    reference.
    """
    datasets = list(rows["dataset"].unique())
    families = list(rows["divergence_family"].unique())
    colours = {name: plotting.PALETTE[k % len(plotting.PALETTE)] for k, name in enumerate(families)}
    metrics = printed_in("figures")
    shape = len(metrics), len(datasets)
    figure, grid = plotting.panel_grid(*shape, (2.5, 2.6), (0.4, 0.6), 6.0)
    for i, metric in enumerate(metrics):
        for j, dataset in enumerate(datasets):
            axes, own = grid[i, j], rows[rows["dataset"] == dataset]
            draw_families(axes, own, metric, colours)
            kl = kl_reference(table, own)
            if kl is not None:
                draw_reference(axes, kl, metric)
            axes.axvline(1, color=plotting.GREY, linewidth=0.5)
            plotting.panel_title(axes, str(dataset) if i == 0 else "", 1.9, "medium")
            axes.set_xlabel("alpha" if i == len(metrics) - 1 else "")
            axes.set_ylabel(metric.loss_axis if plotting.is_leftmost(axes) else "")
    plotting.legend(figure, list(grid.flat), title=title)
    return figure


def draw_families(
    axes: Axes, rows: pd.DataFrame, metric: Metric, colours: Mapping[str, str]
) -> None:
    """Draw mean and standard error of a score by order, with lines slightly offset."""
    for place, (family, group) in enumerate(rows.groupby("divergence_family", sort=False)):
        axes.errorbar(
            group["order"] + 0.03 * (place - 1),
            metric.sign * group[f"{metric.key}_mean"],
            group[f"{metric.key}_stderr"],
            color=colours[str(family)],
            marker="o",
            markersize=3.5,
            linewidth=1,
            elinewidth=0.8,
            capsize=2,
            label=str(family),
        )


def draw_reference(axes: Axes, kl: pd.Series, metric: Metric) -> None:
    """Draw mean and standard error of KL, which has no order, as a line and a band."""
    mean, error = metric.sign * kl[f"{metric.key}_mean"], kl[f"{metric.key}_stderr"]
    axes.axhline(mean, color=plotting.GREY, linewidth=1, linestyle="--", label="kl")
    axes.axhspan(mean - error, mean + error, color=plotting.GREY, alpha=0.15, linewidth=0)
