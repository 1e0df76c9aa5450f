"""A score against the order alpha of families of divergences (GVI thesis, Fig. 5.2)."""

from __future__ import annotations

from functools import partial
from typing import Any

from bnnbench.report.figures.divergence_orders import orders_figure
from bnnbench.report.numbers import plus_minus
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    numbered,
    numbers,
    words,
)
from bnnbench.results.divergence_orders import best_orders, with_orders
from bnnbench.results.labels import in_common
from bnnbench.results.metrics import BY_KEY, printed_in
from bnnbench.results.reader import Runs

ORDER = 5

ORDERS_STATEMENT = (
    "Families of divergences by their order alpha: mean ± standard error over splits, lower is "
    "better (NLL is the log-likelihood with its sign turned). At alpha = 1 every family is KL "
    "(alpha Jensen-Shannon aside), drawn as a line where it was run. The best order is that of the "
    "least mean; neighbouring means often differ by less than an error."
)

COLUMNS = (
    *words("Data set", "Divergence", "Metric"),
    *numbers("Best alpha", "there", "mean, < 1", "mean, > 1"),
)

NAMED = ("experiment", "dataset", "method", "depth", "divergence_family", "order", "splits",
         "diverged")  # fmt: skip


def section(runs: Runs, style: Style) -> Section | None:
    """Scores against alpha; None without a family of enough orders."""
    rows = with_orders(runs.scored) if len(runs.scored) else runs.scored
    if rows.empty:
        return None
    blocks: list[Block] = [Heading("Order of the divergence"), Paragraph(ORDERS_STATEMENT)]
    scores = [
        f"{m.key}_{kind}" for m in printed_in("figures") for kind in ("mean", "std", "stderr")
    ]
    blocks.append(Data("orders", rows[[*NAMED, *scores]], "At full precision:"))
    keys = ["experiment", "method", "likelihood", "loss", "depth"]
    for place, (key, group) in enumerate(rows.groupby(keys, sort=False), 1):
        experiment, method, _, _, depth = key
        title = f"{method}, depth {depth} · {in_common(group)}"
        draw = partial(orders_figure, group, runs.scored, title)
        cells = tuple(best_row(row) for row in best_orders(group).to_dict("records"))
        blocks += [
            Heading(f"{experiment}, {method}, depth {depth}", 3),
            Table(COLUMNS, cells),
            Drawing(numbered("orders", place), "Scores against alpha, a line per family", draw),
        ]
    return Section(tuple(blocks))


def best_row(row: dict[Any, Any]) -> tuple[str, ...]:
    """The printed cells of a row of `best_orders`."""
    return (
        row["dataset"],
        row["divergence_family"],
        BY_KEY[row["metric"]].loss_axis,
        f"{row['order']:g}",
        plus_minus(row["mean"], row["stderr"]),
        plus_minus(row["below"]),
        plus_minus(row["above"]),
    )
