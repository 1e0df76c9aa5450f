"""What better scores cost: seconds of a split against its scores."""

from __future__ import annotations

from functools import partial

from bnnbench.report.figures.time_against_score import time_figure
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Paragraph,
    Section,
    Style,
    numbered,
    parts,
)
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs
from bnnbench.results.time_against_score import SHARED, time_against_score

ORDER = 4

MOST_PANELS = 8
"""Data sets, by experiment, of one figure; further ones go on further figures."""

MOST_RUNS = 40
"""On one data set; of more, nothing could be told apart."""

TIME_STATEMENT = (
    "Seconds are those of one split, its search, final fit and prediction, on the machine that it "
    "ran on; splits trained in one stack share its time equally. Runs compare as far as the "
    "machine was the same and idle otherwise. On the Pareto front are runs that no other run of "
    "the experiment on the data set beats: none is as fast and as good at least, and better in one "
    "of them. Means that differ by less than their errors may change places."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Scatter plots; None where no data set has two runs that were timed."""
    wanted = style.choice.wanted(printed_in("figures"))
    metrics = tuple(metric for metric in wanted if metric.unit != "s")
    table = time_against_score(runs, metrics)
    if table.empty or not metrics:
        return None
    blocks: list[Block] = [
        Heading("Time against score"),
        Paragraph(TIME_STATEMENT),
        Data("time_against_score", table, "Seconds, scores and who is on the front:"),
    ]
    groups = table.groupby(SHARED, sort=False)
    drawn = table[groups["method"].transform("size") <= MOST_RUNS]
    if len(drawn) < len(table):
        blocks.append(Paragraph(f"More than {MOST_RUNS} runs on one data set are not drawn."))
    panels = drawn.groupby(SHARED, sort=False).ngroup()
    for metric in metrics:
        for place, part in enumerate(parts(panels.nunique(), MOST_PANELS), 1):
            own = drawn[panels.isin(part)]
            draw = partial(time_figure, own, metric, style.error)
            caption = f"Test {metric.word} against seconds of a split, by data set"
            blocks.append(Drawing(numbered(f"time_{metric.key}", place), caption, draw))
    return Section(tuple(blocks))
