"""Results of all runs by data set, next to published values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.blocks import MISSING, describe_scores, format_z, plus_minus
from bnnbench.results.compare.published_scores import COLUMNS as PUBLISHED_COLUMNS
from bnnbench.results.compare.published_scores import with_published
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import labels, marked_labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import CODE_VERSIONS, tuned_note
from bnnbench.results.settings import differing_columns

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


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Our means and published values by data set."""
    compared = style.run_filter.metrics_or(printed_in("published"))
    drawn = style.run_filter.metrics_or(printed_in("figures"))
    table = with_published(runs, tuple(dict.fromkeys((*printed_in("published"), *drawn))))
    ours = result_tables(table, style.run_filter.metrics_or(printed_in("page")))
    theirs = comparison_tables(table, compared)
    yield blocks.Heading("Results by data set")
    yield blocks.Paragraph(table_caption(table))
    for dataset, own in ours.items():
        yield blocks.Heading(dataset, 3)
        yield own
        if dataset in theirs:
            yield blocks.Paragraph("Comparison with published values:")
            yield theirs[dataset]
    if theirs:
        yield blocks.Heading("How to read the comparison", 3)
        yield blocks.Paragraph(COMPARISON_STATEMENT)
    plain = table.drop(columns=["settings", "mark", CODE_VERSIONS])
    full = plain.join(differing_columns(table)).reset_index()
    yield blocks.DataFile("results", full, "All metrics of all runs at full precision:")


def table_caption(table: pd.DataFrame) -> str:
    """Explain the numbers, the excluded splits, and a difference that all runs share."""
    text = f"Each entry is the {describe_scores(table['splits'])}."
    diverged = int(table["diverged"].sum())
    if diverged:
        text += f" Diverged splits are excluded ({diverged} in total)."
    if tuned := tuned_note(table):
        text += f" {tuned}"
    shared = [words for words in table["settings_differ"] if words and not table["mark"].any()]
    return f"{text} All runs differ from the published settings: {shared[0]}." if shared else text


def result_tables(table: pd.DataFrame, metrics: Sequence[Metric]) -> dict[str, blocks.TableBlock]:
    """The results of each data set, as parts of one table."""
    numbers = {metric.heading: blocks.score(metric.key) for metric in metrics}
    heads = blocks.columns({"Method": "{label}"}, {**numbers, "Splits": splits_cell})
    rows = table.assign(label=marked_labels(table))
    options = {"name": "results", "caption": table_caption(table)}
    return {
        str(name): blocks.fill(heads, own, group=str(name), runs=tuple(own.index), **options)
        for name, own in rows.groupby("dataset", sort=False)
    }


def splits_cell(run: Mapping[Any, Any]) -> str:
    """The number of splits, and how many of them diverged."""
    return f"{run['splits']}" + (f" ({run['diverged']} diverged)" if run["diverged"] else "")


def comparison_tables(
    table: pd.DataFrame, metrics: Sequence[Metric] = printed_in("published")
) -> dict[str, blocks.TableBlock]:
    """The comparison on each data set with published values, as parts of one table."""
    rows = comparison_rows(table, metrics)
    options = {"name": "published", "caption": COMPARISON_STATEMENT}
    return {
        str(name): blocks.fill(COMPARISON_COLUMNS, own, group=str(name), **options)
        for name, own in rows.groupby("dataset", sort=False)
    }


def comparison_rows(table: pd.DataFrame, metrics: Sequence[Metric]) -> pd.DataFrame:
    """Return a row for each run and metric with a published value.

    Args:
        table: of `with_published`.
        metrics: columns of it.

    Returns:
        `label`, `metric` (its heading), `dataset`, and without the metric's name its `mean`,
        `stderr` and columns of `with_published`.
    """
    suffixes = ("mean", "stderr", *PUBLISHED_COLUMNS)
    rows = [
        {
            "label": label,
            "metric": metric.heading,
            "dataset": run["dataset"],
            **{name: run[f"{metric.key}_{name}"] for name in suffixes},
        }
        for label, run in zip(labels(table), table.to_dict("records"), strict=True)
        for metric in metrics
        if math.isfinite(run[f"{metric.key}_published"])
    ]
    return pd.DataFrame(rows, columns=["label", "metric", "dataset", *suffixes])


def paired_difference(row: Mapping[Any, Any]) -> str:
    """Ours minus published, as in `+0.01 ± 0.03`, or a dash."""
    sign = "+" if row["paired"] > 0 else ""
    return sign + plus_minus(row["paired"], row["paired_stderr"])


def paired_cell(row: Mapping[Any, Any]) -> str:
    """The paired difference and the number of splits, as in `+0.01 ± 0.03 (20)`, or a dash."""
    splits = f" ({row['paired_splits']})" if row["paired_splits"] else ""
    return paired_difference(row) + splits


COMPARISON_COLUMNS = blocks.columns(
    {"Method": "{label}", "Metric": "{metric}"},
    {
        "Ours": blocks.with_stderr("mean", "stderr"),
        "Published": blocks.with_stderr("published"),
        "z": lambda row: format_z(row["z"]),
        "Paired difference": paired_cell,
    },
    {"Source": "{source}", "Settings that differ": lambda row: row["differs"] or MISSING},
)
