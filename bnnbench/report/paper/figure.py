"""The scores of a paper's table as a figure, one or two columns wide."""

from __future__ import annotations

from matplotlib.figure import Figure

from bnnbench.report.blocks import ERROR_BARS
from bnnbench.report.figures.points import Form, points_figure
from bnnbench.report.paper.layout import NOT_TESTED
from bnnbench.report.paper.paper_table import PaperTable, name_in_sentence
from bnnbench.report.paper.score_cells import NO_SCORE
from bnnbench.report.points import Panel, Point
from bnnbench.results.metric_table import Metric

IN_COLUMN = Form(columns=2, width=3.3, points=7.5, values=False)
ON_PAGE = Form(columns=5, width=6.9, points=7.5, values=False)
"""The font is at least as large as that of a caption when the figure is printed unscaled."""


def paper_figure(table: PaperTable, metric: Metric, error: str = "stderr") -> Figure:
    """Draw means and errors over splits.

    Markers are filled where the table is bold, and have the mark of means that are not tested.
    """
    panels = []
    for dataset, title in table.datasets.items():
        points = []
        for one in table.entries:
            cell = table.cells.get((dataset, one.key, metric.key), NO_SCORE)
            spread = cell.stderr if error == "stderr" else cell.std
            source = "published" if one.published else ""
            mark = NOT_TESTED if cell.untested else ""
            points.append(Point(one.name, cell.mean, spread, cell.best, source, mark))
        panels.append(Panel(title, tuple(points), errors=error))
    unit = {"target": "original units", "nats": "nats", "s": "s"}[metric.unit]
    name = name_in_sentence(metric, table.metrics[metric])
    axis = f"test {name} [{unit}], mean and {ERROR_BARS[error]}"
    if any(point.mark for panel in panels for point in panel.points):
        axis += f"; {NOT_TESTED} not tested"
    return points_figure(panels, axis, IN_COLUMN if len(panels) <= IN_COLUMN.columns else ON_PAGE)
