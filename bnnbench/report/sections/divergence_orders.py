"""Scores against the order alpha of families of divergences (GVI thesis, Fig. 5.2)."""

from __future__ import annotations

from functools import partial
from typing import Any

from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    label_columns,
    number_columns,
    numbered_name,
)
from bnnbench.report.figures.divergence_orders import divergence_orders_figure
from bnnbench.report.formatting import plus_minus
from bnnbench.results.divergence_orders import best_orders, with_orders
from bnnbench.results.labels import common_settings
from bnnbench.results.metrics import BY_KEY, printed_in
from bnnbench.results.reader import Runs

ORDERS_STATEMENT = (
    "Scores against the order alpha of each family of divergences. Lower is better (NLL is the "
    "negative log-likelihood). At alpha = 1 every family except alpha-Jensen-Shannon reduces to "
    "KL. The best order has the lowest mean; means at neighbouring orders often differ by less "
    "than one standard error."
)

COLUMNS = (
    *label_columns("Data set", "Divergence", "Metric"),
    *number_columns("Best alpha", "Score", "Mean, alpha < 1", "Mean, alpha > 1"),
)

NAMED = ("experiment", "dataset", "method", "depth", "divergence_family", "order", "splits",
         "diverged")  # fmt: skip


def section(runs: Runs, style: Style) -> Section | None:
    """Scores against alpha; None without a family with enough orders."""
    rows = with_orders(runs.scored) if len(runs.scored) else runs.scored
    if rows.empty:
        return None
    blocks: list[Block] = [Heading("Order of the divergence"), Paragraph(ORDERS_STATEMENT)]
    caption = (
        "Scores against alpha: mean ± standard error over splits, one line per family; dashed line "
        "and band: the same for KL"
    )
    scores = [
        f"{m.key}_{kind}" for m in printed_in("figures") for kind in ("mean", "std", "stderr")
    ]
    blocks.append(DataFile("orders", rows[[*NAMED, *scores]]))
    keys = ["experiment", "method", "likelihood", "loss", "depth"]
    for place, (key, group) in enumerate(rows.groupby(keys, sort=False), 1):
        experiment, method, _, _, depth = key
        title = f"{method}, depth {depth} · {common_settings(group)}"
        draw = partial(divergence_orders_figure, group, runs.scored, title)
        cells = tuple(best_row(row) for row in best_orders(group).to_dict("records"))
        blocks += [
            Heading(f"{experiment}, {method}, depth {depth}", 3),
            Table(COLUMNS, cells),
            FigureBlock(numbered_name("orders", place), caption, draw),
        ]
    return Section(tuple(blocks))


def best_row(row: dict[Any, Any]) -> tuple[str, ...]:
    """The cells of a row of `best_orders`."""
    return (
        row["dataset"],
        row["divergence_family"],
        BY_KEY[row["metric"]].loss_axis,
        f"{row['order']:g}",
        plus_minus(row["mean"], row["stderr"]),
        plus_minus(row["below"]),
        plus_minus(row["above"]),
    )
