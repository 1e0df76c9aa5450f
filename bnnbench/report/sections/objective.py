"""Training objective by epoch (GVI thesis, Fig. 5.3)."""

from __future__ import annotations

from functools import partial

from bnnbench.report.blocks import FigureBlock, Heading, Paragraph, Section, Style
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


def section(runs: Runs, style: Style) -> Section | None:
    """The objective of every run that saved it; None if there are none."""
    medians = median_objectives(runs)
    if medians.empty:
        return None
    title = common_settings(runs.scored.loc[medians["run"].unique()])
    draw = partial(objectives_figure, medians, title)
    caption = "Objective by epoch: median over splits, one line per run"
    figure = FigureBlock("objectives", caption, draw)
    return Section((Heading("Training objective"), Paragraph(OBJECTIVE_STATEMENT), figure))
