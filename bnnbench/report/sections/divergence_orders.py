"""Scores against the order alpha of families of divergences (GVI thesis, Fig. 5.2)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Style,
    columns,
    fill,
    numbered_name,
    with_stderr,
)
from bnnbench.report.figures.divergence_orders import divergence_orders_figure
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

COLUMNS = columns(
    {
        "Data set": "{dataset}",
        "Divergence": "{divergence_family}",
        "Metric": lambda row: BY_KEY[row["metric"]].loss_axis,
    },
    {
        "Best alpha": "{order:g}",
        "Score": with_stderr("mean", "stderr"),
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


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """Scores against alpha, for families with enough orders."""
    rows = with_orders(runs.scored) if len(runs.scored) else runs.scored
    if rows.empty:
        return
    scores = [
        f"{m.key}_{kind}" for m in printed_in("figures") for kind in ("mean", "std", "stderr")
    ]
    yield Heading("Order of the divergence")
    yield Paragraph(ORDERS_STATEMENT)
    yield DataFile("orders", rows[[*NAMED, *scores]])
    keys = ["experiment", "method", "likelihood", "loss", "depth"]
    for number, (key, group) in enumerate(rows.groupby(keys, sort=False), 1):
        experiment, method, _, _, depth = key
        title = f"{method}, depth {depth} · {common_settings(group)}"
        draw = partial(divergence_orders_figure, group, runs.scored, title)
        yield Heading(f"{experiment}, {method}, depth {depth}", 3)
        yield fill(COLUMNS, best_orders(group))
        yield FigureBlock(numbered_name("orders", number), CAPTION, draw)
