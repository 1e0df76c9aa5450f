"""MC dropout's scores beside those that its authors had on the same splits."""

from __future__ import annotations

import pandas as pd

from bnnbench.report.numbers import number, plus_minus
from bnnbench.report.section import (
    Block,
    Data,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    numbers,
    words,
)
from bnnbench.results.published_splits import paired_with_published
from bnnbench.results.reader import Runs

EXPERIMENT = "gal_uci"

STATEMENT = (
    "Gal & Ghahramani (2016) keep the scores behind their Table 1 split by split. On the same "
    "splits a difference is known much better than from two means: what makes a split hard makes "
    "it hard for both. Ours less theirs, ± standard error over splits, and how the two correlate. "
    "mc_dropout_gal2016 takes their steps (minibatches of 32, Adam at 0.001, Glorot's start) with "
    "their dropout, noise precision and length-scale of each data set, and searches nothing."
)

DEPARTURE = (
    "One thing is not theirs: Keras divides what dropout keeps by the share it keeps, 0.95 to "
    "0.995, and our masks are 0 or 1."
)

METRICS = {"rmse": "RMSE", "log_likelihood": "Log-likelihood"}

HEADS = ("published", "ours", "ours less theirs", "correlation")


def section(runs: Runs, style: Style) -> Section | None:
    """The part of the report on its first table; None without runs of this suite."""
    if runs.scored.empty or EXPERIMENT not in set(runs.scored["experiment"]):
        return None
    paired = runs.once(paired_with_published)
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
        Data("paired_with_published", paired),
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
            number(run[f"{metric}_correlation"], ".2f"),
        )
        for run in paired.to_dict("records")
    )
    return Table((*words("Data set", "Method"), *numbers("Splits", *HEADS)), rows)


SECTIONS = (section,)
