"""A comparison with reference results on one screen: significant and undecided differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bnnbench.notes import fold, quantity, shorten
from bnnbench.report import blocks
from bnnbench.report.sections.reference_results import (
    DIVERGED,
    UNRANKED,
    comparison_title,
    mean_rank,
    own_remarks,
    settings_note,
    with_marks,
)
from bnnbench.report.sections.significance import difference_cell, p_value_text
from bnnbench.results.compare.outcomes import SIGNIFICANT, short_rule
from bnnbench.results.metric_table import Metric
from bnnbench.results.reference.comparison import ReferenceComparison

MAX_LINES, WIDTH = 25, 80
"""Lines that a metric may take, and characters of a line."""

FRAME = 4
"""Lines of a table in addition to its rows."""

MAX_CHARACTERS = 150
"""Maximum length of a line that names methods; longer ones count them by data set."""

COLUMNS = blocks.columns(
    {"Data set": "{dataset}", "Mine is": "{outcome}", "Than": "{name}"},
    {"Difference": difference_cell, "Holm p": lambda pair: p_value_text(pair["p_holm"])},
)

STATEMENT = "Difference: mine minus theirs. --all prints every difference, and the power."


def summary_blocks(
    comparison: ReferenceComparison, metrics: Sequence[Metric]
) -> Iterator[blocks.Block]:
    """Yield, for each method of mine, a part for each metric, and the data that were used.

    Tables are as long as `MAX_LINES` allow.
    """
    statement = f"{short_rule(comparison.rope)} {STATEMENT}"
    for name, pairs in comparison.pairs.groupby("a", sort=False):
        title = comparison_title(str(name), pairs, comparison)
        present = [metric for metric in metrics if (pairs["metric"] == metric.key).any()]
        notes = list(notes_on(str(name), pairs, comparison, present))
        counted = {m: pairs[(pairs["metric"] == m.key) & pairs["counted"]] for m in present}
        texts = [title, statement, *notes]
        texts += [text for m, own in counted.items() for text in (heading(own, m), *groups(own, m))]
        room = MAX_LINES * len(present) - sum(map(lines_of, texts)) - FRAME * len(present)
        yield blocks.Heading(title)
        for metric, own in counted.items():
            yield blocks.Paragraph(heading(own, metric))
            yield from metric_blocks(own, metric, max(1, room // len(present)))
        yield blocks.ItemList(tuple(notes))
    yield blocks.Paragraph(statement)


def lines_of(text: str) -> int:
    """Return how many lines a string takes on a screen of `WIDTH`, perhaps as an item of a list."""
    return fold(f"- {text}", WIDTH, 2).count("\n") + 1


def notes_on(
    name: str, pairs: pd.DataFrame, comparison: ReferenceComparison, metrics: Sequence[Metric]
) -> Iterator[str]:
    """Yield notes on the data of the comparison of a method of mine."""
    own = comparison.mine.scored.loc[pairs["run_a"].unique()]
    yield basis(pairs)
    rank = mean_rank(comparison, name, metrics)
    yield rank
    known = ": not ranked, " if "not ranked: " in rank else None
    yield from (text for text in own_remarks(own, pairs) if not (known and known in text))
    yield from marked(pairs)
    for text in settings_note(comparison, pairs, only_differing=True):
        short = text[: 3 * WIDTH].rpartition(";")[0]
        yield text if len(text) <= 3 * WIDTH else f"{short}; more with --all"


def heading(pairs: pd.DataFrame, metric: Metric) -> str:
    """Return the title of a metric, with the number of significant differences."""
    title = f"{metric.inline_title} ({metric.better} is better)"
    if pairs.empty:
        return f"{title}: nothing is tested; see below."
    counts = pairs["outcome"].value_counts()
    better, worse = (counts.get(outcome, 0) for outcome in SIGNIFICANT)
    return (
        f"{title}: mine is significantly better {quantity(better, 'time')}, worse "
        f"{quantity(worse, 'time')}, of {len(pairs)}"
    )


def metric_blocks(pairs: pd.DataFrame, metric: Metric, max_rows: int) -> Iterator[blocks.Block]:
    """Yield the significant differences by one metric, and a line for each group of others.

    Args:
        pairs: the tested pairs of one method of mine; perhaps none.
        metric: the metric.
        max_rows: significant differences that the table lists, to the strongest methods.
    """
    strength = (metric.sign * pairs["mean_b"]).groupby(pairs["dataset"]).rank()
    found = pairs[pairs["outcome"].isin(SIGNIFICANT)]
    listed = found.loc[strength[found.index].sort_values(kind="stable").index[:max_rows]]
    if len(listed):
        places = pairs["dataset"].drop_duplicates().tolist()
        rows = listed.assign(name=with_marks(listed), place=listed["dataset"].map(places.index))
        yield blocks.fill(COLUMNS, rows.sort_values(["place", "outcome"], kind="stable"))
    if lines := groups(pairs.drop(listed.index), metric):
        yield blocks.ItemList(lines)


def groups(pairs: pd.DataFrame, metric: Metric) -> tuple[str, ...]:
    """Return a line for each group of pairs: by their outcome, and undecided ones by direction."""
    better = metric.sign * pairs["difference"] < 0
    undecided = pairs["outcome"] == "undecided"
    rows = {
        "also significant": pairs["outcome"].isin(SIGNIFICANT),
        "undecided, mine has the better mean": undecided & better,
        "undecided, mine has the worse mean": undecided & ~better,
        "equivalent": pairs["outcome"] == "equivalent",
    }
    return tuple(f"{words}: {folded(pairs[own])}" for words, own in rows.items() if own.any())


def folded(pairs: pd.DataFrame) -> str:
    """Name the reference methods of some pairs by data set, or count them if they are too many."""
    by_dataset = pairs.groupby("dataset", sort=False)["b"].agg(list)
    names = [f"{shorten(str(data))}: {', '.join(own)}" for data, own in by_dataset.items()]
    if len(text := "; ".join(names)) <= MAX_CHARACTERS:
        return text
    return ", ".join(f"{len(own)} on {shorten(str(data))}" for data, own in by_dataset.items())


def basis(pairs: pd.DataFrame) -> str:
    """Say which data were used: splits and tested methods of each data set."""
    found: dict[str, list[str]] = {}
    for dataset, own in pairs[pairs["counted"]].groupby("dataset", sort=False):
        splits = f"{blocks.count_range(own['splits'])} splits"
        numbers = f"{splits}, {quantity(own['b'].nunique(), 'method')}"
        found.setdefault(numbers, []).append(shorten(str(dataset)))
    parts = [f"{', '.join(names)} ({numbers} each)" if len(names) > 1 else f"{names[0]} ({numbers})"
             for numbers, names in found.items()]  # fmt: skip
    return f"Tested on {'; '.join(parts)}." if parts else "Nothing was tested."


def marked(pairs: pd.DataFrame) -> Iterator[str]:
    """Explain the marks `UNRANKED` and `DIVERGED`."""
    names = pairs.loc[(pairs["remark"] != "") & pairs["counted"], "b"].unique()
    if len(names):
        yield f"{UNRANKED} Tested but not ranked; --all says why: {', '.join(names)}."
    lost = (pairs["diverged_a"] > 0) | (pairs["diverged_b"] > 0)
    if (lost & pairs["counted"]).any():
        yield f"{DIVERGED} Decided by splits that diverged."
