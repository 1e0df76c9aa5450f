"""What training minimised, epoch by epoch (GVI thesis, Fig. 5.3)."""

from __future__ import annotations

from functools import partial

from bnnbench.report.figures.objective import objectives_figure
from bnnbench.report.section import Drawing, Heading, Paragraph, Section, Style
from bnnbench.results.labels import in_common
from bnnbench.results.objectives import median_objectives
from bnnbench.results.reader import Runs

ORDER = 8

OBJECTIVE_STATEMENT = (
    "The objective of the final fit after every epoch: the loss of the training part, averaged "
    "over weight samples, plus the method's complexity cost, both per data point in nats of the "
    "standardised target; the median over splits. Different divergences measure in units of their "
    "own, so heights do not compare; whether a curve settles does."
)


def section(runs: Runs, style: Style) -> Section | None:
    """The traces of all runs; None where no run kept one."""
    medians = median_objectives(runs)
    if medians.empty:
        return None
    title = in_common(runs.scored.loc[medians["run"].unique()])
    draw = partial(objectives_figure, medians, title)
    drawing = Drawing("objectives", "Objective by epoch, a line per run", draw)
    return Section((Heading("Objective"), Paragraph(OBJECTIVE_STATEMENT), drawing))
