"""Every run's results by data set, beside the published ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from bnnbench.report.figures.bar_charts import bars_figure
from bnnbench.report.numbers import MISSING, plus_minus, statement, z_value
from bnnbench.report.section import (
    Block,
    Column,
    Data,
    Drawing,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    numbered,
    numbers,
    parts,
    words,
)
from bnnbench.results.labels import labels, marked_labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.reader import Runs
from bnnbench.results.settings import differing_columns
from bnnbench.results.with_published import with_published

ORDER = 1

MOST_PANELS = 8
"""Data sets of one bar chart; further ones go on further figures."""

COMPARISON = (
    *words("Method", "Metric"),
    *numbers("Ours", "Published", "z", "Paired difference"),
    Column("Source", "text"),
    Column("Settings that differ", "text"),
)

COMPARISON_STATEMENT = (
    "z = (ours - published) / sqrt(se1² + se2²), in combined standard errors. A published standard "
    "deviation is divided by the square root of its number of splits. As both rest on the same "
    "splits, what makes a split hard is in both errors and cancels in the difference: z is "
    "pessimistic, and a small one is no proof of agreement. Where scores of single splits were "
    "published, the mean of ours less theirs over the splits that test the same rows stands "
    "beside, ± its standard error and with their number: read that (on boston its standard error "
    "is 0.034 where the combined one is 0.275). Splits share training points, so every standard "
    "error is optimistic as far as other data are concerned. The last column names the settings "
    "in which a run is known to differ from the published; with more than samples a step, test "
    "samples or the search's log-likelihood in it there is no z, nor where the paper gives no "
    "error or one that rounds to zero. Of a value from --beside only its number of splits is "
    "known: where ours are fewer there is no z."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Bar charts, then by data set our means and what papers print; None without scores."""
    if runs.scored.empty:
        return None
    drawn = style.choice.wanted(printed_in("figures"))
    beside = style.choice.wanted(printed_in("published"))
    table = with_published(runs, tuple(dict.fromkeys((*printed_in("published"), *drawn))))
    blocks: list[Block] = [Heading("Results", 1), Paragraph(sentence(table))]
    for metric in drawn:
        blocks += [Heading(f"Test {metric.word}"), *bar_charts(table, metric, style.error)]
    ours = result_tables(table, style.choice.wanted(printed_in("page")))
    theirs = comparison_tables(table, beside)
    blocks.append(Heading("Results by data set"))
    for dataset, own in ours.items():
        blocks += [Heading(dataset, 3), own]
        if dataset in theirs:
            blocks += [Paragraph("Beside published results:"), theirs[dataset]]
    if theirs:
        blocks += [Heading("How to read the comparison", 3), Paragraph(COMPARISON_STATEMENT)]
    text = "Every metric of every run, at full precision:"
    return Section((*blocks, Data("results", full_table(table), text)))


def full_table(table: pd.DataFrame) -> pd.DataFrame:
    """Every number, with a column for every setting that differs between the runs.

    Args:
        table: what `with_published` returns.
    """
    return table.drop(columns=["settings", "mark"]).join(differing_columns(table)).reset_index()


def bar_charts(table: pd.DataFrame, metric: Metric, error: str) -> list[Drawing]:
    """Figures of at most `MOST_PANELS` data sets each.

    Args:
        table: what `with_published` returns.
        metric: of the figures.
        error: a key of `ERRORS`.
    """
    datasets, found = list(table["dataset"].unique()), []
    for place, part in enumerate(parts(len(datasets), MOST_PANELS), 1):
        own = table[table["dataset"].isin(datasets[part.start : part.stop])]
        caption = f"Test {metric.word} of every run, by data set"
        draw = partial(bars_figure, own, metric, error)
        found.append(Drawing(numbered(metric.key, place), caption, draw))
    return found


def sentence(table: pd.DataFrame) -> str:
    """What the numbers are, how many splits they leave out, and of what other noise law all are."""
    text = f"Every entry is the {statement(table['splits'])}."
    lost = int(table["diverged"].sum())
    text = f"{text} Diverged splits ({lost} in all) are left out." if lost else text
    other = [words for words in table["settings_differ"] if words and not table["mark"].any()]
    return f"{text} In all runs settings differ from the published: {other[0]}." if other else text


def result_tables(table: pd.DataFrame, metrics: Sequence[Metric]) -> dict[str, Table]:
    """By data set, the parts of one table: label, metrics, splits.

    Args:
        table: rows of `Runs.scored`.
        metrics: which.
    """
    heads = [metric.heading for metric in metrics]
    columns = (*words("Method"), *numbers(*heads, "Splits"))
    caption, names = sentence(table), marked_labels(table)
    found = {}
    for dataset, group in table.groupby("dataset", sort=False):
        rows = tuple(
            result_row(names[run], row, metrics)
            for run, row in zip(group.index, group.to_dict("records"), strict=True)
        )
        found[str(dataset)] = Table(
            columns, rows, "results", str(dataset), caption=caption, runs=tuple(group.index)
        )
    return found


def result_row(label: str, run: Mapping[Any, Any], metrics: Sequence[Metric]) -> tuple[str, ...]:
    """The printed cells of a run."""
    scores = (plus_minus(run[f"{m.key}_mean"], run[f"{m.key}_stderr"]) for m in metrics)
    lost = f" ({run['diverged']} diverged)" if run["diverged"] else ""
    return (label, *scores, f"{run['splits']}{lost}")


def comparison_tables(
    table: pd.DataFrame, metrics: Sequence[Metric] = printed_in("published")
) -> dict[str, Table]:
    """By data set that has published results, the parts of one table under `COMPARISON`.

    Args:
        table: what `with_published` returns.
        metrics: which, of those that it has.
    """
    names, found = labels(table), {}
    for dataset, group in table.groupby("dataset", sort=False):
        rows = tuple(
            (names[run], *cells)
            for run, row in zip(group.index, group.to_dict("records"), strict=True)
            for cells in comparison_cells(row, metrics)
        )
        if rows:
            found[str(dataset)] = Table(
                COMPARISON, rows, "published", str(dataset), caption=COMPARISON_STATEMENT
            )
    return found


def comparison_cells(run: Mapping[Any, Any], metrics: Sequence[Metric]) -> list[tuple[str, ...]]:
    """The cells of `COMPARISON` after the label, for each metric that was published."""
    return [
        (
            metric.heading,
            plus_minus(run[f"{key}_mean"], run[f"{key}_stderr"]),
            plus_minus(run[f"{key}_published"], run[f"{key}_published_stderr"]),
            z_value(run[f"{key}_z"]),
            paired_cell(run, key),
            run[f"{key}_source"],
            run[f"{key}_differs"] or MISSING,
        )
        for metric in metrics
        for key in (metric.key,)
        if math.isfinite(run[f"{key}_published"])
    ]


def paired_cell(run: Mapping[Any, Any], key: str) -> str:
    """`+0.01 ± 0.03 (20)`: ours less theirs, over how many splits; a dash if none was published."""
    difference, splits = run[f"{key}_paired"], run[f"{key}_paired_splits"]
    if not math.isfinite(difference):
        return MISSING
    sign = "+" if difference > 0 else ""
    return f"{sign}{plus_minus(difference, run[f'{key}_paired_stderr'])} ({splits})"
