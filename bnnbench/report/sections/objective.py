"""Training objective by epoch (GVI thesis, Fig. 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bnnbench.report.blocks import Block, FigureBlock, Heading, Paragraph, Style
from bnnbench.report.figures.objective import objectives_figure
from bnnbench.results.labels import common_settings
from bnnbench.results.objectives import median_objectives
from bnnbench.results.reader import Runs

OBJECTIVE_STATEMENT = (
    "The objective of the final fit after each epoch: the training loss, averaged over weight "
    "samples, plus the complexity cost of the method, both in nats per data point for the "
    "standardised target. Divergences differ in scale, so compare whether curves converge, not "
    "their values."
)


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """The objective of every run that saved it."""
    medians = median_objectives(runs)
    if medians.empty:
        return
    title = common_settings(runs.scored.loc[medians["run"].unique()])
    caption = "Objective by epoch: median over splits, one line per run"
    yield Heading("Training objective")
    yield Paragraph(OBJECTIVE_STATEMENT)
    yield FigureBlock("objectives", caption, partial(objectives_figure, medians, title))
