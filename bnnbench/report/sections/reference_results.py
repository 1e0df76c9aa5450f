"""Comparison with reference results, with ranks and a Pareto plot of score against time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.reference_tables import reference_blocks
from bnnbench.report.sections.ranking import ranking_blocks
from bnnbench.report.sections.time_against_score import time_figure, with_fronts
from bnnbench.results.compare.ranking import RANKED_METRICS
from bnnbench.results.compare.significance import ROPE
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.reference.comparison import (
    MINE,
    RATIO,
    ReferenceComparison,
    compare_with_reference,
    reference_rankings,
    times_and_scores,
)

TIME_STATEMENT = (
    "Time: CPU seconds of a split (search, final fit, prediction), divided by those of a fixed "
    "fit on the same machine at the same time, so that machines compare. Runs on a GPU, and runs "
    "without a reference time, are left out. A run is on the Pareto front if no other run on the "
    "data set is at least as fast and as good, and better in one of the two. Stars: mine."
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Comparison with reference results on request: tables, ranks, and score against time."""
    if not style.reference:
        return
    metrics = style.run_filter.metrics_or(printed_in("figures"))
    comparisons = compare_with_reference(runs, style.reference, metrics, ROPE)
    if comparisons.left_out:
        yield blocks.ItemList(comparisons.left_out)
    for number, comparison in enumerate(comparisons.tracks, 1):
        yield from reference_blocks(comparison, metrics)
        yield from rank_and_time_blocks(comparison, style, number)
    pairs = pd.concat([one.pairs.assign(track=one.track) for one in comparisons.tracks])
    yield blocks.DataFile("reference_comparison", pairs, "All comparisons with reference results:")


def rank_and_time_blocks(
    comparison: ReferenceComparison, style: blocks.Style, number: int
) -> Iterator[blocks.Block]:
    """Yield ranks and a Pareto plot of one comparison, with my methods highlighted."""
    metrics = style.run_filter.metrics_or(printed_in("figures"))
    ranked = reference_rankings(comparison, style.run_filter.metrics_among(RANKED_METRICS))
    if ranked:
        mine = [name for name in ranked.by_metric[0].mean_ranks.index if MINE in name]
        yield blocks.Heading(f"Ranks among reference methods, track {comparison.track}", 3)
        table = pd.concat([comparison.mine.scored, comparison.reference.scored])
        name = blocks.numbered_name("reference_ranks", number)
        yield from ranking_blocks(ranked, table[~table.index.duplicated()], name, mine)
    times = times_and_scores(comparison)
    times = times[times[f"{RATIO}_mean"].notna()]
    if times.empty:
        return
    yield blocks.Heading(f"Time against score of reference methods, track {comparison.track}", 3)
    yield blocks.Paragraph(TIME_STATEMENT)
    times = with_fronts(times.assign(label=labels(times)), metrics, RATIO)
    for metric in metrics:
        caption = f"Test {metric.inline_title} against CPU time per split. Filled: Pareto front"
        own = tuple(comparison.mine.scored.index)
        draw = partial(time_figure, times, metric, style.error_bars, RATIO, own)
        name = blocks.numbered_name(f"reference_time_{metric.key}", number)
        yield blocks.FigureBlock(name, caption, draw)
