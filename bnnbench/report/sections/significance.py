"""Which method is better, and how surely."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

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
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.pairing import LEAST_SPLITS, meetings, unpaired
from bnnbench.results.reader import Runs
from bnnbench.results.significance import all_pairs, named, shared, tally, tested

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
    names, metrics = labels(runs.scored), style.choice.wanted(printed_in("pairs"))
    found = pairs_of(runs, metrics)
    pairs = named(found, names)
    apart = [Paragraph(sentence) for sentence in unpaired(meetings(runs, metrics=()), names)]
    if pairs.empty:
        return Section((Heading("Which method is better"), *apart)) if apart else None
    blocks: list[Block] = [
        Heading("Which method is better"),
        Paragraph(f"{PAIRS_STATEMENT} Of the pairs here: {shared(pairs)}."),
        *apart,
        Data("comparisons", pairs, "Every comparison:"),
    ]
    marked = marked_labels(runs.scored)
    counts = tally(named(found, marked)).astype(str)
    if style.choice.methods:
        counts = in_order(counts, [metric.key for metric in metrics], list(marked))
    columns = (*words("Metric", "Method"), *numbers("Wins", "Ties", "Losses"))
    blocks.append(Table(columns, tuple(counts.itertuples(index=False, name=None))))
    if len({*pairs["a"], *pairs["b"]}) <= MOST_COMPARED:
        title = in_common(runs.scored.loc[list({*pairs["run_a"], *pairs["run_b"]})])
        order = list(dict.fromkeys(names)) if style.choice.methods else sorted(set(names))
        for metric in style.choice.wanted(printed_in("figures")):
            own = pairs[pairs["metric"] == metric.key]
            caption = f"Test {metric.word}: probability that the row's method beats the column's"
            blocks.append(
                Drawing(f"comparison_{metric.key}", caption, partial(heat_map, own, title, order))
            )
    return Section(tuple(blocks))


def in_order(counts: pd.DataFrame, metrics: list[str], names: list[str]) -> pd.DataFrame:
    """The rows of a tally by metric, then by method, both as they are listed."""
    places = counts["metric"].map(metrics.index), counts["method"].map(names.index)
    return counts.iloc[np.lexsort(places[::-1])]


def pairs_of(runs: Runs, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Every pair by some metrics; the usual ones are compared once for all sections."""
    usual = printed_in("pairs")
    if not {*metrics} <= {*usual}:
        return tested(meetings(runs, metrics=metrics), metrics=metrics)
    every = runs.once(all_pairs)
    return every if metrics == usual else every[every["metric"].isin([m.key for m in metrics])]
