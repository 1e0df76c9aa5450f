"""Comparison with reference results: verdicts, tables and power, ranks, and score against time."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import partial

import pandas as pd

from bnnbench.notes import quantity
from bnnbench.report import blocks
from bnnbench.report.sections.ranking import ranking_blocks
from bnnbench.report.sections.significance import (
    OUTCOME_COLUMNS,
    PROBABILITY_COLUMNS,
    UNLIMITED,
    difference_cell,
    list_names,
    needed_cell,
    p_value_text,
    power_statement,
)
from bnnbench.report.sections.time_against_score import time_figure, with_fronts
from bnnbench.results.compare.outcomes import rule
from bnnbench.results.compare.ranking import ERROR_RATES, MIN_SIGNED_RANK_DATASETS, RANKED_METRICS
from bnnbench.results.compare.significance import ROPE
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.reference.comparison import (
    ReferenceComparison,
    compare_with_reference,
    over_datasets,
)
from bnnbench.results.reference.joined_runs import MINE, RATIO, reference_rankings, times_and_scores
from bnnbench.results.reference.own_settings import own_settings
from bnnbench.results.reference.tracks import TRACKS, changed_settings


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


VERDICTS = {
    "better": "significantly better than",
    "equivalent": "equivalent to",
    "worse": "significantly worse than",
    "undecided": "undecided against",
}

UNRANKED, DIVERGED = "*", "†"
"""Marks of methods that are not ranked, and of pairs in which one run diverged."""


def verdict(pairs: pd.DataFrame, metric: Metric) -> str:
    """Summarise the pairs of one run on one data set, in a sentence or three."""
    counted = pairs[pairs["counted"]]
    # Means over fewer splits do not compare with the others.
    means = counted["mean_b"].where(counted["splits"] == counted["splits"].max())
    dataset, better = pairs["dataset"].iloc[0], metric.sign * means
    head = f"{dataset}, {metric.inline_title}: "
    if counted.empty:
        return f"{head}no verdict, since no reference method was tested."
    found = counted["outcome"]
    parts = [
        f"{words} {list_names(list(counted.loc[found == key, 'b']))}"
        for key, words in VERDICTS.items()
        if (found == key).any()
    ]
    best = counted.loc[better.idxmin()]
    return (
        f"{head}{'; '.join(parts)}. Best reference method: {best['b']}, "
        f"difference {difference_cell(best)}."
    )


STATEMENT = (
    "Difference: mine minus reference on the splits with the same test and training rows, with its "
    "interval. Holm p: p-value, adjusted over the methods of the table. P: probabilities "
    "by the Bayesian correlated t-test that mine is better, that both are practically equivalent, "
    "and that the reference method is better; they decide nothing. Needs: splits, see power."
)

OUTCOMES_STATEMENT = (
    "Better (significantly), equivalent, undecided, worse (significantly): data sets with this "
    "outcome of mine against the method. If only one of two runs diverged on some split, it is "
    "significantly worse."
)

DATASET_COLUMNS = blocks.columns(
    {"Method": "{name}"},
    {
        "Mean": "{mean_b:.4g}",
        "Difference": difference_cell,
        "Holm p": lambda pair: p_value_text(pair["p_holm"]),
        **PROBABILITY_COLUMNS,
        "Needs": needed_cell,
    },
)

COUNTS = {"Sets": "{datasets}", **OUTCOME_COLUMNS}
COUNT_COLUMNS = blocks.columns({"Method": "{b}"}, COUNTS)
OVERALL_COLUMNS = blocks.columns({"Method": "{b}"}, {**COUNTS, **PROBABILITY_COLUMNS})

POWER_COLUMNS = blocks.columns(
    {"Data set": "{dataset}"},
    {
        "Splits": "{splits}",
        "Detects: least": lambda row: blocks.two_digits(row["least"]),
        "median": lambda row: blocks.two_digits(row["median"]),
        "most": lambda row: blocks.two_digits(row["most"]),
        "Need more": "{more}",
        f"Need {UNLIMITED}": "{never}",
    },
)


def reference_blocks(
    comparison: ReferenceComparison, metrics: Sequence[Metric]
) -> Iterator[blocks.Block]:
    """Yield, for each method of mine, verdicts, tables and power."""
    for name, pairs in comparison.pairs.groupby("a", sort=False):
        by_metric = [(m, own) for m in metrics if len(own := pairs[pairs["metric"] == m.key])]
        yield blocks.Heading(comparison_title(str(name), pairs, comparison))
        yield blocks.ItemList(tuple(
            verdict(own, metric)
            for metric, every in by_metric
            for _, own in every.groupby("dataset", sort=False)
        ))  # fmt: skip
        for metric, every in by_metric:
            for _, own in every.groupby("dataset", sort=False):
                yield from dataset_table(own, comparison.mine.scored, metric)
        yield blocks.Paragraph(f"{rule(comparison.rope)} {STATEMENT}")
        own = comparison.mine.scored.loc[pairs["run_a"].unique()]
        if found := (*own_remarks(own, pairs), *remarks(pairs), *settings_note(comparison, pairs)):
            yield blocks.ItemList(found)
        yield from overall(comparison, str(name), by_metric)
        if pairs["counted"].any():
            for metric, every in by_metric:
                yield blocks.Heading(f"Power, {metric.inline_title}", 3)
                yield power_table(every[every["counted"]])
            yield blocks.Paragraph(power_statement())


def comparison_title(name: str, pairs: pd.DataFrame, comparison: ReferenceComparison) -> str:
    """Return the title of the comparison of a method of mine."""
    count = pairs["b"].nunique()
    if comparison.track:
        protocol = TRACKS[comparison.track].partition(";")[0]
        others = quantity(count, "reference method")
        return f"{name} and {others}: track {comparison.track}, {protocol}"
    return f"{name} and {quantity(count, 'other method')} of these runs"


def with_marks(pairs: pd.DataFrame) -> pd.Series:
    """Return the names of the reference methods, marked `UNRANKED` or `DIVERGED`."""
    lost = (pairs["diverged_a"] > 0) | (pairs["diverged_b"] > 0)
    unranked = pairs["remark"].map(lambda text: UNRANKED * bool(text))
    marks = unranked + lost.map({True: DIVERGED, False: ""})
    return pairs["b"] + marks.map(lambda mark: f" {mark}" * bool(mark))


def dataset_table(
    pairs: pd.DataFrame, mine: pd.DataFrame, metric: Metric
) -> Iterator[blocks.Block]:
    """Yield the pairs of one run, best reference method first, with a row for the run itself.

    Args:
        pairs: those of the run by one metric.
        mine: rows of `Runs.scored` with the run.
        metric: the metric.
    """
    run = mine.loc[pairs["run_a"].iloc[0]]
    rows = pairs.assign(name=with_marks(pairs))
    rows.loc[~rows["counted"], ["p_better", "p_equivalent", "p_worse", "needed"]] = math.nan
    own = {"name": f"{pairs['a'].iloc[0]}{MINE}", "mean_b": run[f"{metric.key}_mean"]}
    rows = pd.concat([rows, pd.DataFrame([own])])
    rows = rows.sort_values("mean_b", key=lambda mean: metric.sign * mean, kind="stable")
    unit = blocks.unit_suffix(run["target"]) if metric.unit == "target" else f" [{metric.unit}]"
    yield blocks.Heading(f"{run['dataset']}, {metric.inline_title}{unit}", 3)
    yield blocks.fill(DATASET_COLUMNS, rows)


def own_remarks(mine: pd.DataFrame, pairs: pd.DataFrame) -> Iterator[str]:
    """Say why runs of mine are not tested or not ranked, in a line for each reason."""
    tested = {*pairs.loc[pairs["counted"], "run_a"]}
    found: dict[tuple[str, str], list[str]] = {}
    for digest, run in mine.to_dict("index").items():
        changes = ", ".join(changed_settings(run))
        text = f"not ranked, {run['unranked']}" * bool(run["unranked"])
        if digest not in tested and changes:
            text = f"not tested or ranked, since its settings differ: {changes}"
        if text:
            found.setdefault((str(run["method"]), text), []).append(str(run["dataset"]))
    for (method, text), datasets in found.items():
        yield f"{method} on {', '.join(datasets)}: {text}"


def settings_note(
    comparison: ReferenceComparison, pairs: pd.DataFrame, only_differing: bool = False
) -> Iterator[str]:
    """Say which settings of their own the tested methods used, as `own_settings`."""
    tested = pairs[pairs["counted"]]
    if tested.empty:
        return
    mine = comparison.mine.scored.loc[tested["run_a"].unique()]
    theirs = comparison.reference.scored.loc[tested["run_b"].unique()]
    if found := list(own_settings(mine, theirs, MINE, only_differing)):
        yield f"The methods' own settings: {'; '.join(found)}"


def choice_note(names: Collection[str]) -> Iterator[str]:
    """Say that the correction does not count the choice among several methods of mine.

    Args:
        names: labels of my methods or of their configurations, in all tracks.
    """
    if (count := len({*names})) > 1:
        yield (
            f"{count} methods of mine were compared; the correction does not count the choice "
            "among them."
        )


def remarks(pairs: pd.DataFrame) -> Iterator[str]:
    """Explain the marks of the methods."""
    for remark, own in pairs[pairs["remark"] != ""].groupby("remark", sort=False):
        missing = "not ranked" if own["counted"].all() else "not tested or ranked"
        every = len(own) == len(pairs) > 1
        names = "all reference methods" if every else ", ".join(own["b"].unique())
        yield f"{UNRANKED} {names}: {missing}, {remark}"
    lost = pairs[(pairs["diverged_a"] > 0) | (pairs["diverged_b"] > 0)]
    for dataset, own in lost.groupby("dataset", sort=False):
        names = ", ".join(own["b"].unique())
        yield f"{DIVERGED} {names} on {dataset}: a run that diverged on a split is worse"


def overall(
    comparison: ReferenceComparison, name: str, by_metric: Sequence[tuple[Metric, pd.DataFrame]]
) -> Iterator[blocks.Block]:
    """Yield the outcomes and the signed-rank test over data sets, and the mean rank."""
    tables = [
        (metric, rows)
        for metric, pairs in by_metric
        if len(rows := over_datasets(pairs, metric, comparison.rope))
    ]
    if not tables:
        return
    for metric, rows in tables:
        yield blocks.Heading(f"Over data sets, {metric.inline_title}", 3)
        tested = rows["p_better"].notna().any()
        yield blocks.fill(OVERALL_COLUMNS if tested else COUNT_COLUMNS, rows)
    most = max(rows["datasets"].max() for _, rows in tables)
    yield blocks.Paragraph(f"{OUTCOMES_STATEMENT} {signed_rank_statement(int(most))}")
    yield blocks.Paragraph(mean_rank(comparison, name, [metric for metric, _ in by_metric]))


def mean_rank(comparison: ReferenceComparison, name: str, metrics: Sequence[Metric]) -> str:
    """Return the mean ranks of a method of mine, or why it has none."""
    pairs, mine = comparison.pairs, comparison.mine.scored
    own = mine.loc[pairs.loc[pairs["a"] == name, "run_a"].unique()]
    ranked = reference_rankings(
        comparison, [metric for metric in metrics if metric in RANKED_METRICS]
    )
    names = [ranked.runs[run] for run in own.index if run in ranked.runs] if ranked else []
    if ranked is None or not names:
        reasons = [text for text in own["unranked"].unique() if text]
        reasons += [
            f"track {track}" for track in own["track"].unique() if track != comparison.track
        ]
        return f"{name} is not ranked: {', '.join(reasons) or 'too few data sets or methods'}."
    rows, methods = ranked.by_metric[0].ranks.shape
    places = [f"{r.mean_ranks[names[0]]:.1f} by {r.metric.inline_title}" for r in ranked.by_metric]
    return (
        f"Mean rank of {name} among {methods} methods on {rows} data sets, one preset per family: "
        f"{', '.join(places)}."
    )


def signed_rank_statement(n: int) -> str:
    """Say what the signed-rank test over `n` data sets gives, or why it is left out."""
    if n < MIN_SIGNED_RANK_DATASETS:
        return (
            f"The signed-rank test over data sets needs {MIN_SIGNED_RANK_DATASETS}: with fewer, "
            "it is often certain of differences that are chance."
        )
    rate = ERROR_RATES[min(n, max(ERROR_RATES))]
    return (
        "P: probabilities of better, equivalent and worse by the Bayesian signed-rank test over "
        "data sets; they decide nothing. With "
        f"{n} data sets, one of two equal methods is better with a probability above 0.95 in "
        f"{rate:.0%} of cases (simulated)."
    )


def power_table(pairs: pd.DataFrame) -> blocks.TableBlock:
    """Return the smallest detectable differences to the reference methods, by data set."""
    rows = []
    for dataset, own in pairs.groupby("dataset", sort=False):
        never = ~own["needed"].map(math.isfinite)
        rows.append({
            "dataset": dataset,
            "splits": blocks.count_range(own["splits"]),
            "least": own["detectable"].min(),
            "median": own["detectable"].median(),
            "most": own["detectable"].max(),
            "more": int((own["needed"] > own["splits"]).sum() - never.sum()),
            "never": int(never.sum()),
        })  # fmt: skip
    return blocks.fill(POWER_COLUMNS, rows)


TIME_STATEMENT = (
    "Time: CPU seconds of a split (search, final fit, prediction), divided by those of a fixed "
    "fit on the same machine at the same time, so that machines compare. Runs on a GPU, and runs "
    "without a reference time, are left out. A run is on the Pareto front if no other run on the "
    "data set is at least as fast and as good, and better in one of the two. Stars: mine."
)


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
