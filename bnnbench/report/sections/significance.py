"""Pairwise significance tests between methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Style,
    columns,
    fill,
)
from bnnbench.report.figures.heat_map import heat_map
from bnnbench.results.labels import common_settings, labels, marked_labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.pairing import MIN_COMMON_SPLITS, dataset_pairs, unpaired_messages
from bnnbench.results.reader import Runs
from bnnbench.results.significance import (
    add_names,
    all_pairs,
    compare_pairs,
    describe_shared_splits,
    tally,
)

MAX_RUNS = 20
"""Runs in a heat map of pairs. With more it would be unreadable."""

PAIRS_STATEMENT = (
    "Bayesian correlated t-test for each pair of runs, on splits with the same test rows, with a "
    "region of practical equivalence of 1 % (RMSE, CRPS) or 0.01 nats. A win or a loss is a "
    "difference beyond this region with probability above 0.95; everything else is a tie. Runs "
    f"with fewer than {MIN_COMMON_SPLITS} common splits are not compared."
)


COLUMNS = columns(
    {"Metric": "{metric}", "Method": "{method}"},
    {"Wins": "{wins}", "Ties": "{ties}", "Losses": "{losses}"},
)


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """Wins, ties and losses, and heat maps, of two or more runs on one data set."""
    if runs.scored.empty:
        return
    names, metrics = labels(runs.scored), style.run_filter.metrics_or(printed_in("pairs"))
    comparisons = pairs_of(runs, metrics)
    pairs = add_names(comparisons, names)
    unpaired = unpaired_messages(dataset_pairs(runs, metrics=()), names)
    if pairs.empty and not unpaired:
        return
    yield Heading("Pairwise comparison")
    if len(pairs):
        yield Paragraph(f"{PAIRS_STATEMENT} These pairs: {describe_shared_splits(pairs)}.")
    yield from map(Paragraph, unpaired)
    if pairs.empty:
        return
    yield DataFile("comparisons", pairs, "All comparisons:")
    marked = marked_labels(runs.scored)
    counts = tally(add_names(comparisons, marked))
    if style.run_filter.methods:
        counts = in_order(counts, [metric.key for metric in metrics], list(marked))
    yield fill(COLUMNS, counts)
    if len({*pairs["a"], *pairs["b"]}) > MAX_RUNS:
        return
    title = common_settings(runs.scored.loc[list({*pairs["run_a"], *pairs["run_b"]})])
    order = list(dict.fromkeys(names)) if style.run_filter.methods else sorted(set(names))
    for metric in style.run_filter.metrics_or(printed_in("figures")):
        own = pairs[pairs["metric"] == metric.key]
        caption = (
            f"Test {metric.inline_title}: probability that the method of the row is better than "
            "that of the column"
        )
        yield FigureBlock(f"comparison_{metric.key}", caption, partial(heat_map, own, title, order))


def in_order(counts: pd.DataFrame, metrics: list[str], names: list[str]) -> pd.DataFrame:
    """Sort a tally by metric, then by method, in the given orders."""
    places = counts["metric"].map(metrics.index), counts["method"].map(names.index)
    return counts.iloc[np.lexsort(places[::-1])]


def pairs_of(runs: Runs, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Comparisons of all pairs; those by the default metrics are computed once per report."""
    default = printed_in("pairs")
    if not {*metrics} <= {*default}:
        return compare_pairs(dataset_pairs(runs, metrics=metrics), metrics=metrics)
    pairs = runs.cached(all_pairs)
    return pairs if metrics == default else pairs[pairs["metric"].isin([m.key for m in metrics])]
