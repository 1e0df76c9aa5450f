"""A comparison with reference results on one screen: what is significant, and what is open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bnnbench.notes import quantity, shorten
from bnnbench.report import blocks
from bnnbench.report.pair_tables import difference_cell, p_value_text
from bnnbench.report.reference_tables import (
    DIVERGED,
    UNRANKED,
    comparison_title,
    mean_rank,
    own_remarks,
    settings_note,
    with_marks,
)
from bnnbench.results.metrics import Metric
from bnnbench.results.outcomes import SIGNIFICANT, rule
from bnnbench.results.reference.comparison import ReferenceComparison

MAX_ROWS = 8
"""Significant differences that the table of a metric lists; the others are counted."""

MAX_CHARACTERS = 150
"""Of a line that names methods. A longer one gives their numbers by data set."""

COLUMNS = blocks.columns(
    {"Data set": "{dataset}", "Mine is": "{outcome}", "Than": "{name}"},
    {"Difference": difference_cell, "Holm": lambda pair: p_value_text(pair["p_holm"])},
)

STATEMENT = "Difference: mine minus theirs. --all prints every difference and the power."


def summary_blocks(
    comparison: ReferenceComparison, metrics: Sequence[Metric]
) -> Iterator[blocks.Block]:
    """Yield, for each method of mine, a part for each metric, and what the answer rests on."""
    for name, pairs in comparison.pairs.groupby("a", sort=False):
        yield blocks.Heading(comparison_title(str(name), pairs, comparison))
        present = [metric for metric in metrics if (pairs["metric"] == metric.key).any()]
        for metric in present:
            own = pairs[(pairs["metric"] == metric.key) & pairs["counted"]]
            yield from metric_blocks(own, metric)
        own = comparison.mine.scored.loc[pairs["run_a"].unique()]
        texts = [basis(pairs), mean_rank(comparison, str(name), present)]
        notes = [*own_remarks(own, pairs), *marked(pairs)]
        settings = settings_note(comparison, pairs, only_differing=True)
        yield blocks.ItemList((*texts, *notes, *settings))
    yield blocks.Paragraph(f"{rule(comparison.rope)} {STATEMENT}")


def metric_blocks(pairs: pd.DataFrame, metric: Metric) -> Iterator[blocks.Block]:
    """Yield the significant differences by one metric, and a line for each group of others.

    Args:
        pairs: the tested pairs of one method of mine; perhaps none.
        metric: the metric.
    """
    title = f"{metric.inline_title} ({metric.better} is better)"
    if pairs.empty:
        yield blocks.Paragraph(f"{title}: nothing is tested, since no protocol is the same.")
        return
    counts = pairs["outcome"].value_counts()
    better, worse = (counts.get(outcome, 0) for outcome in SIGNIFICANT)
    title += (
        f": mine is significantly better {quantity(better, 'time')}, worse "
        f"{quantity(worse, 'time')}, of {len(pairs)}"
    )
    yield blocks.Paragraph(title)
    strength = (metric.sign * pairs["mean_b"]).groupby(pairs["dataset"]).rank()
    found = pairs[pairs["outcome"].isin(SIGNIFICANT)]
    listed = found.loc[strength[found.index].sort_values(kind="stable").index[:MAX_ROWS]]
    lost = (found["diverged_a"] > 0) | (found["diverged_b"] > 0)
    if len(listed):
        rows = listed.assign(name=with_marks(listed))
        places = pairs["dataset"].drop_duplicates().tolist()
        rows = rows.sort_values(
            ["dataset", "outcome"],
            key=lambda column: column.map(places.index) if column.name == "dataset" else column,
            kind="stable",
        )
        yield blocks.fill(COLUMNS, rows)
    better = metric.sign * pairs["difference"] < 0
    undecided = pairs["outcome"] == "undecided"
    groups = {
        "also significant": found.drop(listed.index),
        "undecided, mine has the better mean": pairs[undecided & better],
        "undecided, mine has the worse mean": pairs[undecided & ~better],
        "equivalent": pairs[pairs["outcome"] == "equivalent"],
    }
    lines = [f"{words}: {folded(own)}" for words, own in groups.items() if len(own)]
    if lost.any():
        lines.append(f"{DIVERGED} decided by diverged splits")
    if lines:
        yield blocks.ItemList(tuple(lines))


def folded(pairs: pd.DataFrame) -> str:
    """Name the reference methods of some pairs by data set, or count them if they are too many."""
    by_dataset = pairs.groupby("dataset", sort=False)["b"].agg(list)
    names = [f"{shorten(str(data))}: {', '.join(own)}" for data, own in by_dataset.items()]
    if len(text := "; ".join(names)) <= MAX_CHARACTERS:
        return text
    return ", ".join(f"{len(own)} on {shorten(str(data))}" for data, own in by_dataset.items())


def basis(pairs: pd.DataFrame) -> str:
    """Say which data the answer rests on: splits and tested methods of each data set."""
    tested = pairs[pairs["counted"]]
    parts = [
        f"{shorten(str(dataset))} ({splits_of(own)}, {quantity(own['b'].nunique(), 'method')})"
        for dataset, own in tested.groupby("dataset", sort=False)
    ]
    return f"Tested on {', '.join(parts)}." if parts else "Nothing was tested."


def marked(pairs: pd.DataFrame) -> Iterator[str]:
    """Name the methods with the mark `UNRANKED`."""
    names = pairs.loc[pairs["remark"] != "", "b"].unique()
    if len(names):
        yield f"{UNRANKED} Not ranked or not tested; --all says why: {', '.join(names)}."


def splits_of(pairs: pd.DataFrame) -> str:
    """Return `20 splits` or `18 to 20 splits`."""
    few, many = int(pairs["splits"].min()), int(pairs["splits"].max())
    return quantity(many, "split") if few == many else f"{few} to {many} splits"
