"""Paired differences between runs: their cells, and the section that counts significant ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.notes import with_interval
from bnnbench.report import blocks
from bnnbench.report.figures.points import MAX_LINES, Panel, Point, points_blocks
from bnnbench.results.compare.outcomes import (
    SIGNIFICANT,
    Verdict,
    all_pairs,
    find_verdicts,
    from_both_sides,
    tally,
    with_outcomes,
)
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, dataset_pairs, unpaired_messages
from bnnbench.results.compare.power import POWER, limit_ratio
from bnnbench.results.compare.significance import (
    INTERVAL,
    ROUNDING,
    SIGNIFICANCE_LEVEL,
    add_names,
    compare_pairs,
    describe_shared_splits,
)
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import common_marked_labels, labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import ranked_pairs, tuned_runs

MAX_LISTED = 4
"""Methods named in a sentence; more are counted."""

UNLIMITED = "∞"
"""Printed if no number of splits is enough."""


def difference_cell(pair: Mapping[Any, Any]) -> str:
    """Return the signed difference of a pair and its interval; 0 if it is rounding.

    A run that diverged on a split is worse, whatever the other differences; none is shown.
    """
    diverged = [pair.get(name, 0) for name in ("diverged_a", "diverged_b")]
    if any(n > 0 for n in diverged):
        return "both diverged" if all(diverged) else f"{sum(diverged):.0f} diverged"
    if not math.isfinite(pair["difference"]):
        return blocks.MISSING
    if max(abs(pair["low"]), abs(pair["high"])) < ROUNDING * abs(pair["mean_b"]):
        return "0"
    return with_interval(pair["difference"], pair["low"], pair["high"])


def p_value_text(p: float) -> str:
    """Return a p-value with three decimals, more if it would print as the level."""
    if p < 0.001:
        return "<0.001"
    text = blocks.format_number(p, ".3f")
    return f"{p:.5f}" if text == f"{SIGNIFICANCE_LEVEL:.3f}" else text


def needed_cell(pair: Mapping[Any, Any]) -> str:
    """Return how many splits would detect the observed difference of a pair."""
    return UNLIMITED if math.isinf(pair["needed"]) else blocks.format_number(pair["needed"], ".0f")


def percentages(pair: Mapping[Any, Any]) -> str:
    """Return the probabilities of better, equivalent and worse in per cent, or a dash."""
    found = [pair[name] for name in ("p_better", "p_equivalent", "p_worse")]
    if not all(map(math.isfinite, found)):
        return blocks.MISSING
    return "/".join(f"{100 * p:.0f}" for p in found)


PROBABILITY_COLUMNS: Mapping[str, blocks.Cell] = {"P in %": percentages}

OUTCOME_COLUMNS: Mapping[str, blocks.Cell] = {
    "Better": "{better}",
    "Equivalent": "{equivalent}",
    "Undecided": "{undecided}",
    "Worse": "{worse}",
}
"""Numbers of `outcomes.OUTCOMES`; better and worse are significant."""


def power_statement() -> str:
    """Explain the detectable difference and the number of splits needed."""
    return (
        "Detects: the smallest true difference for which a single two-sided test at level "
        f"{SIGNIFICANCE_LEVEL:g}, not adjusted, on these splits rejects equality with probability "
        f"{POWER:.0%}. "
        "Needs: how many splits of the same rows would detect the observed difference, if it and "
        "its standard deviation s over splits were the true ones. More splits reduce the standard "
        "error only to s sqrt(rho / (1 - rho)), where rho is the fraction of test rows, since all "
        f"splits share their rows; a difference below {limit_ratio():.2f} times this limit needs "
        f"more data ({UNLIMITED})."
    )


def list_names(names: Sequence[str]) -> str:
    """Return the names, or their number and the first ones."""
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    return f"{len(names)} methods ({', '.join(names[:MAX_LISTED])}, ...)"


SECTION_STATEMENT = (
    "The rule of the verdict for each pair of runs, on splits with the same test rows. P-values "
    "are adjusted over all pairs of one data set and metric. If only one of two runs diverged on a "
    "common split, it is significantly worse. Runs with fewer splits than the others on their data "
    f"set do not count, and runs with fewer than {MIN_COMMON_SPLITS} common splits are not "
    "compared."
)

TALLY_COLUMNS = blocks.columns({"Metric": "{metric}", "Method": "{method}"}, OUTCOME_COLUMNS)


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
        yield blocks.Paragraph(f"{SECTION_STATEMENT} These pairs: {describe_shared_splits(pairs)}.")
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
        yield blocks.fill(TALLY_COLUMNS, counts)


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
