"""All published values on the data sets of the runs, on request."""

from __future__ import annotations

from bnnbench.report.blocks import (
    Block,
    Column,
    DataFile,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    label_columns,
    number_columns,
)
from bnnbench.report.formatting import plus_minus
from bnnbench.results.leaderboard import leaderboard
from bnnbench.results.metrics import BY_KEY, printed_in
from bnnbench.results.reader import Runs

LEADERBOARD_STATEMENT = (
    "Published values on these data sets, best first, together with our runs (source: ours). "
    "Splits: public, the 20 published splits (5 for protein); own, other splits, so differences "
    "to our means include the error of both; unknown, not reported. Protocols differ: each paper "
    "has its own search, number of epochs, network and noise model, and some select "
    "hyper-parameters by test scores. Values without an error were published without one, or with "
    "one of unknown kind. The column seen_in of published/uci.csv and published/modern.csv, in "
    "the package, gives the location of each value."
)

USER_STATEMENT = (
    "The values from --published-values, best first, together with our runs on these data sets "
    "(source: ours). Only what the file states is known about their splits and settings."
)


def section(runs: Runs, style: Style) -> Section | None:
    """A table for each data set and metric.

    None unless all published values were requested or the user provided some.
    """
    everything = style.all_published
    if not (everything or len(runs.user_published)) or runs.scored.empty:
        return None
    table = leaderboard(runs, style.run_filter.metrics_or(printed_in("published")), everything)
    if table.empty:
        return None
    heading = "All published values" if everything else "Comparison with your published values"
    statement = LEADERBOARD_STATEMENT if everything else USER_STATEMENT
    blocks: list[Block] = [Heading(heading), Paragraph(statement)]
    for (dataset, key), group in table.groupby(["dataset", "metric"], sort=False):
        metric = BY_KEY[str(key)]
        columns = (
            *label_columns("Method"),
            *number_columns(metric.heading),
            *label_columns("Splits"),
            Column("Source", "text"),
        )
        rows = tuple(
            (row["method"], plus_minus(row["mean"], row["stderr"]), row["splits"], row["source"])
            for row in group.to_dict("records")
        )
        blocks += [Heading(f"{dataset}: {metric.inline_title}", 3), Table(columns, rows)]
    return Section((*blocks, DataFile("published", table)))
