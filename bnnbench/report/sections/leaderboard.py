"""All published values on the data sets of the runs, on request."""

from __future__ import annotations

from collections.abc import Iterator

from bnnbench.report.blocks import (
    Block,
    Column,
    DataFile,
    Heading,
    Paragraph,
    Style,
    fill,
    with_stderr,
)
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


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """A table for each data set and metric, of all published values or of the user's, if any."""
    everything = style.all_published
    if not (everything or len(runs.user_published)) or runs.scored.empty:
        return
    table = leaderboard(runs, style.run_filter.metrics_or(printed_in("published")), everything)
    if table.empty:
        return
    yield Heading("All published values" if everything else "Comparison with your published values")
    yield Paragraph(LEADERBOARD_STATEMENT if everything else USER_STATEMENT)
    for (dataset, key), group in table.groupby(["dataset", "metric"], sort=False):
        metric = BY_KEY[str(key)]
        columns = (
            Column("Method", "label", "{method}"),
            Column(metric.heading, "number", with_stderr("mean", "stderr")),
            Column("Splits", "label", "{splits}"),
            Column("Source", "text", "{source}"),
        )
        yield Heading(f"{dataset}: {metric.inline_title}", 3)
        yield fill(columns, group)
    yield DataFile("published", table)
