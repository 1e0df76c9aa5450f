"""Results of all runs by data set, next to published values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from bnnbench.report.blocks import (
    ERROR_BARS,
    Block,
    Column,
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    even_chunks,
    label_columns,
    number_columns,
    numbered_name,
)
from bnnbench.report.figures.bar_charts import bars_figure
from bnnbench.report.formatting import MISSING, describe_scores, format_z, plus_minus
from bnnbench.results.labels import labels, marked_labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.published.comparison import with_published
from bnnbench.results.reader import Runs
from bnnbench.results.settings import differing_columns

MAX_PANELS = 8
"""Data sets in one bar chart. Further ones are drawn in further figures."""

COMPARISON_COLUMNS = (
    *label_columns("Method", "Metric"),
    *number_columns("Ours", "Published", "z", "Paired difference"),
    Column("Source", "text"),
    Column("Settings that differ", "text"),
)

COMPARISON_STATEMENT = (
    "z = (ours - published) / sqrt(se1² + se2²), the difference in combined standard errors. A "
    "published standard deviation is divided by the square root of its number of splits. If both "
    "use the same splits, the difficulty of a split contributes to both standard errors but "
    "cancels in the difference; z is then conservative, and a small z does not prove agreement. "
    "Paired difference: ours minus published, averaged over the splits with the same test rows, ± "
    "its standard error, with the number of splits in parentheses. It is available where scores "
    "of single splits were published, and is more precise than z (on boston the standard error is "
    "0.034 instead of 0.275). Splits share training points, so all standard errors are too small "
    "with respect to new data. The last column lists the settings in which a run is known to "
    "differ from the published one. We report no z if any setting other than samples per step, "
    "test samples and the search objective differs, or if the paper gives no error or one that "
    "rounds to zero. For values from --published-values only the number of splits is known; there "
    "is no z if ours are fewer."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Bar charts, then our means and published values by data set; None without scores."""
    if runs.scored.empty:
        return None
    drawn = style.run_filter.metrics_or(printed_in("figures"))
    compared = style.run_filter.metrics_or(printed_in("published"))
    table = with_published(runs, tuple(dict.fromkeys((*printed_in("published"), *drawn))))
    blocks: list[Block] = [Heading("Results", 1), Paragraph(table_caption(table))]
    for metric in drawn:
        blocks += [
            Heading(f"Test {metric.inline_title}"),
            *bar_charts(table, metric, style.error_bars),
        ]
    ours = result_tables(table, style.run_filter.metrics_or(printed_in("page")))
    theirs = comparison_tables(table, compared)
    blocks.append(Heading("Results by data set"))
    for dataset, own in ours.items():
        blocks += [Heading(dataset, 3), own]
        if dataset in theirs:
            blocks += [Paragraph("Comparison with published values:"), theirs[dataset]]
    if theirs:
        blocks += [Heading("How to read the comparison", 3), Paragraph(COMPARISON_STATEMENT)]
    text = "All metrics of all runs at full precision:"
    return Section((*blocks, DataFile("results", full_table(table), text)))


def full_table(table: pd.DataFrame) -> pd.DataFrame:
    """All columns of `table`, plus one for every setting that differs between the runs.

    Args:
        table: from `with_published`.
    """
    return table.drop(columns=["settings", "mark"]).join(differing_columns(table)).reset_index()


def bar_charts(table: pd.DataFrame, metric: Metric, error_bars: str) -> list[FigureBlock]:
    """Figures with at most `MAX_PANELS` data sets each.

    Args:
        table: from `with_published`.
        metric: the metric to draw.
        error_bars: a key of `ERROR_BARS`.
    """
    datasets, figures = list(table["dataset"].unique()), []
    caption = (
        f"Test {metric.inline_title} by data set. Bars: mean over splits; error bars: "
        f"{ERROR_BARS[error_bars]} over splits; diamonds: published means with the same error"
    )
    for number, chunk in enumerate(even_chunks(len(datasets), MAX_PANELS), 1):
        rows = table[table["dataset"].isin(datasets[chunk.start : chunk.stop])]
        draw = partial(bars_figure, rows, metric, error_bars)
        figures.append(FigureBlock(numbered_name(metric.key, number), caption, draw))
    return figures


def table_caption(table: pd.DataFrame) -> str:
    """Explain the numbers, the excluded splits, and a difference that all runs share."""
    text = f"Each entry is the {describe_scores(table['splits'])}."
    diverged = int(table["diverged"].sum())
    if diverged:
        text += f" Diverged splits are excluded ({diverged} in total)."
    shared = [words for words in table["settings_differ"] if words and not table["mark"].any()]
    return f"{text} All runs differ from the published settings: {shared[0]}." if shared else text


def result_tables(table: pd.DataFrame, metrics: Sequence[Metric]) -> dict[str, Table]:
    """The results of each data set, as parts of one table.

    Args:
        table: rows of `Runs.scored`.
        metrics: the columns.
    """
    headings = [metric.heading for metric in metrics]
    columns = (*label_columns("Method"), *number_columns(*headings, "Splits"))
    caption, names = table_caption(table), marked_labels(table)
    tables = {}
    for dataset, group in table.groupby("dataset", sort=False):
        rows = tuple(
            result_row(names[run], row, metrics)
            for run, row in zip(group.index, group.to_dict("records"), strict=True)
        )
        tables[str(dataset)] = Table(
            columns, rows, "results", str(dataset), caption=caption, runs=tuple(group.index)
        )
    return tables


def result_row(label: str, run: Mapping[Any, Any], metrics: Sequence[Metric]) -> tuple[str, ...]:
    """The cells of a run."""
    scores = (plus_minus(run[f"{m.key}_mean"], run[f"{m.key}_stderr"]) for m in metrics)
    lost = f" ({run['diverged']} diverged)" if run["diverged"] else ""
    return (label, *scores, f"{run['splits']}{lost}")


def comparison_tables(
    table: pd.DataFrame, metrics: Sequence[Metric] = printed_in("published")
) -> dict[str, Table]:
    """The comparison on each data set with published values, as parts of one table.

    Args:
        table: from `with_published`.
        metrics: the metrics to compare, of those in `table`.
    """
    names, tables = labels(table), {}
    for dataset, group in table.groupby("dataset", sort=False):
        rows = tuple(
            (names[run], *cells)
            for run, row in zip(group.index, group.to_dict("records"), strict=True)
            for cells in comparison_cells(row, metrics)
        )
        if rows:
            tables[str(dataset)] = Table(
                COMPARISON_COLUMNS, rows, "published", str(dataset), caption=COMPARISON_STATEMENT
            )
    return tables


def comparison_cells(run: Mapping[Any, Any], metrics: Sequence[Metric]) -> list[tuple[str, ...]]:
    """The cells under `COMPARISON_COLUMNS` after the label, for each published metric."""
    return [
        (
            metric.heading,
            plus_minus(run[f"{key}_mean"], run[f"{key}_stderr"]),
            plus_minus(run[f"{key}_published"], run[f"{key}_published_stderr"]),
            format_z(run[f"{key}_z"]),
            paired_cell(run, key),
            run[f"{key}_source"],
            run[f"{key}_differs"] or MISSING,
        )
        for metric in metrics
        for key in (metric.key,)
        if math.isfinite(run[f"{key}_published"])
    ]


def paired_cell(run: Mapping[Any, Any], key: str) -> str:
    """Ours minus published and the number of splits, as in `+0.01 ± 0.03 (20)`, or a dash."""
    difference, splits = run[f"{key}_paired"], run[f"{key}_paired_splits"]
    if not math.isfinite(difference):
        return MISSING
    sign = "+" if difference > 0 else ""
    return f"{sign}{plus_minus(difference, run[f'{key}_paired_stderr'])} ({splits})"
