"""Paired differences between runs, and the number of significant ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.figures.points import points_blocks
from bnnbench.report.pair_tables import OUTCOME_COLUMNS
from bnnbench.report.points import MAX_LINES, Panel, Point
from bnnbench.results.compare.outcomes import (
    SIGNIFICANT,
    all_pairs,
    from_both_sides,
    tally,
    with_outcomes,
)
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, dataset_pairs, unpaired_messages
from bnnbench.results.compare.significance import (
    INTERVAL,
    add_names,
    compare_pairs,
    describe_shared_splits,
)
from bnnbench.results.compare.verdict import Verdict, find_verdicts
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.completeness import ranked_pairs, tuned_runs
from bnnbench.results.read.labels import common_marked_labels, labels
from bnnbench.results.read.run_tables import Runs

PAIRS_STATEMENT = (
    "The rule of the verdict for each pair of runs, on splits with the same test rows. P-values "
    "are adjusted over all pairs of one data set and metric. If only one of two runs diverged on a "
    "common split, it is significantly worse. Runs with fewer splits than the others on their data "
    f"set do not count, and runs with fewer than {MIN_COMMON_SPLITS} common splits are not "
    "compared."
)

COLUMNS = blocks.columns(
    {"Metric": "{metric}", "Method": "{method}"},
    OUTCOME_COLUMNS,
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Differences to the best run, and counts of outcomes, of two or more runs on a data set."""
    names, metrics = labels(runs.scored), style.run_filter.metrics_or(printed_in("pairs"))
    comparisons = pairs_of(runs, metrics)
    pairs = add_names(comparisons, names)
    unpaired = unpaired_messages(dataset_pairs(runs, metrics=()), names)
    if pairs.empty and not unpaired:
        return
    yield blocks.Heading("Paired differences")
    if len(pairs):
        yield blocks.Paragraph(f"{PAIRS_STATEMENT} These pairs: {describe_shared_splits(pairs)}.")
    yield from map(blocks.Paragraph, unpaired)
    if pairs.empty:
        return
    for metric in style.run_filter.metrics_or(printed_in("figures")):
        found = find_verdicts(runs.scored, pairs_of(runs, (metric,)), metric)
        panels = [difference_panel(one, comparisons, names) for one in found if len(one.others)]
        caption = (
            f"Difference in test {metric.inline_title} to a baseline, by default the best run of "
            f"the data set ({metric.better} is better): mean over common splits and its "
            f"{INTERVAL}, not adjusted. Filled: significant after "
            "Holm's correction over all differences to the baseline"
        )
        axis = f"difference in {metric.axis}"
        falling = metric.better == "lower"
        yield from points_blocks(f"difference_{metric.key}", caption, panels, axis, falling)
    yield blocks.DataFile("comparisons", pairs, "All comparisons:")
    marked = common_marked_labels(runs.scored)
    ranked = ranked_pairs(add_names(comparisons, marked), runs.scored)
    counts = tally(ranked)
    if style.run_filter.methods:
        counts = in_order(counts, [metric.key for metric in metrics], list(marked))
    if len(counts):
        yield blocks.fill(COLUMNS, counts)


def difference_panel(verdict: Verdict, pairs: pd.DataFrame, names: pd.Series) -> Panel:
    """The differences of the best `MAX_LINES` runs to the best, and between all of them."""
    ranked = {verdict.best, *verdict.others.index}
    shown = [run for run in verdict.scores.index if run in ranked][:MAX_LINES]
    own = pairs[(pairs["metric"] == verdict.metric.key) & (pairs["dataset"] == verdict.dataset)]
    rivals = own[["run_a", "run_b"]].isin(verdict.scores.index).all(axis=1)
    both = from_both_sides(own[rivals])
    # A run that diverged on a split is worse, whatever the difference on the others.
    lost = (both["diverged_a"] > 0) ^ (both["diverged_b"] > 0)
    rows = both[both["run_a"].isin(shown) & both["run_b"].isin(shown) & ~lost]
    cells = (
        *(rows["run_a"].map(names), rows["run_b"].map(names), rows["difference"]),
        *((rows["high"] - rows["low"]) / 2, rows["outcome"].isin(SIGNIFICANT)),
    )
    differences = tuple(zip(*cells, strict=True))
    best, *others = (names[run] for run in shown)
    found = {name: Point(name, *rest) for name, baseline, *rest in differences if baseline == best}
    points = [Point(best, 0.0), *(found.get(name, Point(name, math.nan)) for name in others)]
    return Panel(verdict.dataset, tuple(points), 0.0, differences, errors="interval")


def in_order(counts: pd.DataFrame, metrics: list[str], names: list[str]) -> pd.DataFrame:
    """Sort a tally by metric, then by method, in the given orders."""
    places = counts["metric"].map(metrics.index), counts["method"].map(names.index)
    return counts.iloc[np.lexsort(places[::-1])]


def pairs_of(runs: Runs, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Comparisons of all pairs; those by the default metrics are computed once per report."""
    default = printed_in("pairs")
    if not {*metrics} <= {*default}:
        tested = compare_pairs(dataset_pairs(runs, metrics=metrics), metrics=metrics)
        return with_outcomes(tested, barred=tuned_runs(runs.scored))
    pairs = runs.cached(all_pairs)
    return pairs if metrics == default else pairs[pairs["metric"].isin([m.key for m in metrics])]
