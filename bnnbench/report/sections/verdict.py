"""The verdict in words: which run is best on which data set, by how much, and what is undecided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import pandas as pd

from bnnbench.notes import quantity
from bnnbench.report import blocks
from bnnbench.report.blocks import plus_minus, two_digits
from bnnbench.report.sections.significance import pairs_of
from bnnbench.results.compare.outcomes import Outcome, Verdict, find_verdicts, rule
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs

MAX_NAMED = 4
"""Up to this many runs, or data sets, are named in a sentence; more are counted."""

OTHER_OUTCOMES: Mapping[Outcome, str] = {
    "better": "On the common splits it is significantly worse than",
    "equivalent": "Equivalent to it:",
    "undecided": "Undecided against:",
}
"""What introduces the runs with an outcome against the best one."""


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """The verdict, and the rule that decides."""
    yield blocks.Heading("Verdict", 1)
    yield from verdict_blocks(runs, style)
    if len(pairs_of(runs, style.run_filter.metrics_or(printed_in("figures")))):
        yield blocks.Paragraph(f"{rule()} Here these are all comparisons with the best run.")


def verdict_blocks(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """A sentence per metric, if there are several data sets, and one per data set and metric."""
    names = labels(runs.scored)
    metrics = style.run_filter.metrics_or(printed_in("figures"))
    pairs = pairs_of(runs, metrics)
    by_metric = [list(find_verdicts(runs.scored, pairs, metric)) for metric in metrics]
    for found in by_metric:
        if len(found) > 1 and any(len(one.scores) > 1 for one in found):
            yield blocks.Paragraph(summary(found, names))
    order = list(runs.scored["dataset"].unique())
    verdicts = sorted(chain(*by_metric), key=lambda one: order.index(one.dataset))
    yield blocks.ItemList(tuple(sentence(one, names) for one in verdicts))


def summary(found: Sequence[Verdict], names: pd.Series) -> str:
    """On how many data sets each run is best, and how many comparisons with it are decided."""
    compared = [one for one in found if len(one.scores) > 1]
    best = pd.Series({one.dataset: names[one.best] for one in compared})
    wins = [
        f"{name} on {listed(list(sets.index), 'data sets')}"
        for name, sets in sorted(best.groupby(best, sort=False), key=lambda kv: -len(kv[1]))
    ]
    text = f"Best mean test {found[0].metric.inline_title}: {'; '.join(wins)}."
    tests = sum(len(one.others) for one in compared)
    if not tests:
        return f"{text} No difference was tested."
    won, equal, open_ = (
        sum(len(one.runs(outcome)) for one in compared)
        for outcome in ("worse", "equivalent", "undecided")
    )
    return (
        f"{text} The best runs are significantly better in {won} of {tests} comparisons on their "
        f"data sets; {equal} are equivalent and {open_} undecided."
    )


def sentence(verdict: Verdict, names: pd.Series) -> str:
    """The verdict on one data set: `boston, RMSE: pbp has the best mean (2.96 ± 0.17). ...`."""
    metric, scores = verdict.metric, verdict.scores
    top = scores.iloc[0]
    value = plus_minus(top[f"{metric.key}_mean"], top[f"{metric.key}_stderr"])
    splits = quantity(top["splits"], "split")
    diverged = f", {top['diverged']} of {splits} diverged" if top["diverged"] else ""
    start = f"{verdict.dataset}, {metric.inline_title}: {names[verdict.best]}"
    lost = [names[run] for run in verdict.diverged]
    if len(scores) == 1 and not lost and not verdict.incomplete:
        return f"{start}, the only run, has {value}{diverged}."
    others = len(scores) - 1
    parts = [f"{start} has the best mean ({value}{diverged})."]
    if beaten := verdict.runs("worse"):
        parts.append(
            f"It is significantly better than {_with_gaps(verdict, beaten, names, others)}."
        )
    for outcome, text in OTHER_OUTCOMES.items():
        if group := verdict.runs(outcome):
            everyone = f"all {others} others" if len(group) == others > MAX_NAMED else ""
            parts.append(f"{text} {everyone or listed([names[run] for run in group])}.")
    if rest := verdict.untested:
        whom = "the others" if len(rest) == others else listed([names[run] for run in rest])
        parts.append(f"Not tested against {whom}: fewer than {MIN_COMMON_SPLITS} common splits.")
    if lost:
        parts.append(f"Diverged on every split: {listed(lost)}.")
    if rest := [f"{names[run]} ({text})" for run, text in verdict.incomplete.items()]:
        parts.append(f"Not ranked: {listed(rest)}.")
    return " ".join(parts)


def _with_gaps(verdict: Verdict, beaten: Sequence[str], names: pd.Series, others: int) -> str:
    """Name the beaten runs with their distances or diverged splits, or count them."""
    rows = verdict.others.loc[list(beaten)]
    if len(beaten) <= MAX_NAMED:
        return listed([f"{names[run]} {_gap(row)}" for run, row in rows.iterrows()])
    gaps = rows.loc[rows["diverged"] == 0, "difference"].abs()
    size = f" by {two_digits(gaps.min())} to {two_digits(gaps.max())}" if len(gaps) else ""
    lost = len(rows) - len(gaps)
    size += f" ({lost} with diverged splits)" if lost else ""
    return f"{'all' if len(beaten) == others else f'{len(beaten)} of'} {others} others{size}"


def _gap(row: pd.Series) -> str:
    """Say by how much, or with how many diverged splits, a run is worse."""
    if row["diverged"]:
        return f"({quantity(row['diverged'], 'diverged split')})"
    return f"by {two_digits(abs(row['difference']))}"


def listed(items: Sequence[str], noun: str = "runs") -> str:
    """Join items, by semicolons if they contain commas; beyond `MAX_NAMED` the rest is counted."""
    comma = "; " if any("," in item for item in items) else ", "
    if len(items) <= MAX_NAMED:
        return comma.join(items)
    return f"{comma.join(items[: MAX_NAMED - 1])} and {len(items) - MAX_NAMED + 1} more {noun}"
