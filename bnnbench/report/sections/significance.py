"""Which method is better, and how surely."""

from __future__ import annotations

from functools import partial

from bnnbench.report.figures.heat_map import heat_map
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    numbers,
    words,
)
from bnnbench.results.labels import in_common, labels, marked_labels
from bnnbench.results.metrics import printed_in
from bnnbench.results.pairing import LEAST_SPLITS, meetings, unpaired
from bnnbench.results.reader import Runs
from bnnbench.results.significance import all_pairs, named, shared, tally

ORDER = 2

MOST_COMPARED = 20
"""Runs on a heat map of pairs; of more, nothing could be read."""

PAIRS_STATEMENT = (
    "Bayesian correlated t-test of every pair of runs on splits that test the same rows, with a "
    "region of practical equivalence of 1 % (RMSE, CRPS) or 0.01 nats. A win or a loss is a "
    "difference beyond it with probability over 0.95; all else is a tie. Runs that share fewer "
    f"than {LEAST_SPLITS} splits are not compared: nothing can be said of them."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Wins, ties and losses, and a heat map; None without two runs on one data set."""
    if runs.scored.empty:
        return None
    names = labels(runs.scored)
    pairs = named(runs.once(all_pairs), names)
    apart = [Paragraph(sentence) for sentence in unpaired(meetings(runs), names)]
    if pairs.empty:
        return Section((Heading("Which method is better"), *apart)) if apart else None
    blocks: list[Block] = [
        Heading("Which method is better"),
        Paragraph(f"{PAIRS_STATEMENT} Of the pairs here: {shared(pairs)}."),
        *apart,
        Data("comparisons", pairs, "Every comparison:"),
    ]
    counts = tally(named(runs.once(all_pairs), marked_labels(runs.scored))).astype(str)
    columns = (*words("Metric", "Method"), *numbers("Wins", "Ties", "Losses"))
    blocks.append(Table(columns, tuple(counts.itertuples(index=False, name=None))))
    if len({*pairs["a"], *pairs["b"]}) <= MOST_COMPARED:
        title = in_common(runs.scored.loc[list({*pairs["run_a"], *pairs["run_b"]})])
        for metric in printed_in("figures"):
            own = pairs[pairs["metric"] == metric.key]
            caption = f"Test {metric.word}: probability that the row's method beats the column's"
            blocks.append(
                Drawing(f"comparison_{metric.key}", caption, partial(heat_map, own, title))
            )
    return Section(tuple(blocks))
