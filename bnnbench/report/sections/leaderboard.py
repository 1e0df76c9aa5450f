"""Every published value on the data sets of the runs, for readers who ask for all of them."""

from __future__ import annotations

from bnnbench.report.numbers import plus_minus
from bnnbench.report.section import (
    Block,
    Column,
    Data,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    numbers,
    words,
)
from bnnbench.results.leaderboard import leaderboard
from bnnbench.results.metrics import BY_KEY, printed_in
from bnnbench.results.reader import Runs

ORDER = 12

LEADERBOARD_STATEMENT = (
    "Everything on record that papers print of these data sets, best first, with our runs among "
    "them (source: ours). Splits: public, the 20 (of protein 5) that are published with the data; "
    "own, others, so that a mean stands beside ours with the errors of both; unknown, where nobody "
    "says. Protocols differ: searches, epochs, networks and noise laws are each paper's, and some "
    "choose by test scores. A value without an error was printed with none, or with one of a kind "
    "that nobody says. Where each was read says the column seen_in of published_uci.csv and "
    "published_modern.csv, in the package."
)

BROUGHT_STATEMENT = (
    "The values brought with --beside, best first, with our runs on these data sets among them "
    "(source: ours). Of their splits and settings nothing is known here but what the file says."
)


def section(runs: Runs, style: Style) -> Section | None:
    """A table for each data set and metric.

    None unless all published values are asked for, or some were brought.
    """
    every = style.published == "all"
    if not (every or len(runs.beside)) or runs.scored.empty:
        return None
    table = leaderboard(runs, style.choice.wanted(printed_in("published")), every)
    if table.empty:
        return None
    heading = "Every published value on these data sets" if every else "Beside the values brought"
    statement = LEADERBOARD_STATEMENT if every else BROUGHT_STATEMENT
    blocks: list[Block] = [Heading(heading), Paragraph(statement)]
    for (dataset, key), group in table.groupby(["dataset", "metric"], sort=False):
        metric = BY_KEY[str(key)]
        columns = (*words("Method"), *numbers(metric.heading), *words("Splits"),
                   Column("Source", "text"))  # fmt: skip
        rows = tuple(
            (row["method"], plus_minus(row["mean"], row["stderr"]), row["splits"], row["source"])
            for row in group.to_dict("records")
        )
        blocks += [Heading(f"{dataset}: {metric.word}", 3), Table(columns, rows)]
    return Section((*blocks, Data("published", table, "At full precision:")))
