"""Scores against computing time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bnnbench.report.blocks import (
    ERROR_BARS,
    Block,
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Style,
    even_chunks,
    numbered_name,
)
from bnnbench.report.figures.time_against_score import time_figure
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs
from bnnbench.results.time_against_score import GROUP_COLUMNS, time_against_score

MAX_PANELS = 8
"""Panels (data set and experiment) in one figure. Further ones are drawn in further figures."""

MAX_RUNS = 40
"""Runs on one data set. With more a panel would be unreadable."""

TIME_STATEMENT = (
    "Time is the wall-clock time per split for search, final fit and prediction; splits trained "
    "in one stack share its time equally. Times are comparable only if the runs used the same, "
    "otherwise idle machine. A run is on the Pareto front if no other run of the same experiment "
    "and data set is at least as fast and as good, and better in one of the two. Means that "
    "differ by less than their errors may change places."
)


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """Scatter plots of data sets with two timed runs."""
    requested = style.run_filter.metrics_or(printed_in("figures"))
    metrics = tuple(metric for metric in requested if metric.unit != "s")
    table = time_against_score(runs, metrics)
    if table.empty or not metrics:
        return
    yield Heading("Time against score")
    yield Paragraph(TIME_STATEMENT)
    yield DataFile("time_against_score", table, "Times, scores and membership of the Pareto front:")
    groups = table.groupby(GROUP_COLUMNS, sort=False)
    drawn = table[groups["method"].transform("size") <= MAX_RUNS]
    if len(drawn) < len(table):
        yield Paragraph(f"Data sets with more than {MAX_RUNS} runs are not drawn.")
    panels = drawn.groupby(GROUP_COLUMNS, sort=False).ngroup()
    for metric in metrics:
        caption = (
            f"Test {metric.inline_title} against time per split. Error bars: "
            f"{ERROR_BARS[style.error_bars]} over splits; filled markers and line: Pareto front"
        )
        for number, chunk in enumerate(even_chunks(sorted(panels.unique()), MAX_PANELS), 1):
            draw = partial(time_figure, drawn[panels.isin(chunk)], metric, style.error_bars)
            yield FigureBlock(numbered_name(f"time_{metric.key}", number), caption, draw)
