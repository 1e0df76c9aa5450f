"""MC dropout's scores compared with its authors' on the same splits."""

from __future__ import annotations

import pandas as pd

from bnnbench.report.blocks import (
    Block,
    DataFile,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    label_columns,
    number_columns,
)
from bnnbench.report.formatting import format_number, plus_minus
from bnnbench.results.published.splits import paired_with_published
from bnnbench.results.reader import Runs

EXPERIMENT = "gal_uci"

STATEMENT = (
    "The repository of Gal & Ghahramani (2016) contains the scores of single splits behind their "
    "Table 1. Paired differences on the same splits are much more precise than differences of two "
    "means, because a hard split is hard for both. The table shows ours - published, ± standard "
    "error over splits, and the correlation of the two. mc_dropout_gal2016 uses their optimiser "
    "(minibatches of 32, Adam with learning rate 0.001, Glorot initialisation) and their dropout "
    "rate, noise precision and length-scale of each data set, without a search."
)

DEPARTURE = (
    "One difference remains: Keras divides the units that dropout keeps by the keep probability "
    "(0.95 to 0.995), whereas our masks are 0 or 1."
)

METRICS = {"rmse": "RMSE", "log_likelihood": "Log-likelihood"}

HEADS = ("published", "ours", "ours - published", "correlation")


def section(runs: Runs, style: Style) -> Section | None:
    """Return the section on the original table; None without runs of this suite."""
    if runs.scored.empty or EXPERIMENT not in set(runs.scored["experiment"]):
        return None
    paired = runs.cached(paired_with_published)
    if paired.empty:
        return None
    blocks: tuple[Block, ...] = (
        Heading("MC dropout, split by split (Gal & Ghahramani 2016)"),
        Paragraph(STATEMENT),
        *(
            block
            for metric, name in METRICS.items()
            for block in (Heading(name, 3), _table(paired, metric))
        ),
        Paragraph(DEPARTURE),
        DataFile("paired_with_published", paired),
    )
    return Section(blocks)


def _table(paired: pd.DataFrame, metric: str) -> Table:
    rows = tuple(
        (
            run["dataset"],
            run["method"],
            str(run["splits"]),
            f"{run[f'{metric}_theirs']:.4g}",
            f"{run[f'{metric}_ours']:.4g}",
            plus_minus(run[f"{metric}_difference"], run[f"{metric}_stderr"]),
            format_number(run[f"{metric}_correlation"], ".2f"),
        )
        for run in paired.to_dict("records")
    )
    return Table((*label_columns("Data set", "Method"), *number_columns("Splits", *HEADS)), rows)


SECTIONS = (section,)
