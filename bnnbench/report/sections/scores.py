"""Scores of all runs as points with intervals, one panel per data set."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.figures.points import MAX_LINES, Panel, Point, points_blocks
from bnnbench.report.sections.significance import pairs_of
from bnnbench.results.compare.outcomes import not_significantly_worse
from bnnbench.results.compare.published_scores import with_published
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import common_settings, labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import comparable_losses


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """A figure per metric, sorted by score."""
    metrics = style.run_filter.metrics_or(printed_in("figures"))
    table, pairs = with_published(runs, metrics), pairs_of(runs, metrics)
    for metric in metrics:
        yield blocks.Heading(f"Test {metric.inline_title}")
        panels = score_panels(table, pairs, metric, style.error_bars)
        caption = score_caption(table, metric, style.error_bars)
        falling = metric.better == "lower"
        yield from points_blocks(metric.key, caption, panels, metric.axis, falling)


def score_caption(table: pd.DataFrame, metric: Metric, error: str) -> str:
    """Explain the points, intervals and markers."""
    text = (
        f"Test {metric.inline_title} by data set, best first ({metric.better} is better): mean and "
        f"{blocks.ERROR_BARS[error]} over splits. Filled: the best, and runs that are not "
        "significantly worse (correlated t-test, Holm); runs that are not tested are hollow"
    )
    if table[f"{metric.key}_published"].notna().any():
        text += "; diamonds: published values with the same kind of interval"
    if (table.groupby("dataset").size() > MAX_LINES).any():
        text += f"; at most the best {MAX_LINES} runs of a data set, the others are in the tables"
    return f"{text}; {common_settings(table)}"


def score_panels(
    table: pd.DataFrame, pairs: pd.DataFrame, metric: Metric, error: str
) -> list[Panel]:
    """Return a panel per data set with its best runs and their published values.

    Args:
        table: rows of `Runs.scored`, perhaps `with_published` values.
        pairs: from `significance.compare_pairs`.
        metric: the metric.
        error: a key of `ERROR_BARS`.
    """
    key = metric.key
    pairs = pairs[pairs["metric"] == key]
    ends = table["incomplete"].map(lambda text: f" ({text})" if text else "")
    losses = comparable_losses(table, metric).sort_values(kind="stable")
    ranked = table.assign(label=labels(table) + ends).loc[losses.index]
    panels = []
    for dataset in table["dataset"].unique():
        own = ranked[ranked["dataset"] == dataset]
        best = not_significantly_worse(losses[own.index], pairs[pairs["dataset"] == dataset])
        points = []
        for run, row in own.head(MAX_LINES).to_dict("index").items():
            name = row["label"]
            points.append(Point(name, row[f"{key}_mean"], row[f"{key}_{error}"], run in best))
            if math.isfinite(row.get(f"{key}_published", math.nan)):
                theirs = row[f"{key}_published"], row[f"{key}_published_{error}"]
                points.append(Point(name, *theirs, filled=False, source=row[f"{key}_source"]))
        best_mean = float(own[f"{key}_mean"].iloc[0])
        panels.append(Panel(str(dataset), tuple(points), best_mean, errors=error))
    return panels
