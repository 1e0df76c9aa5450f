"""Writes a paper's table and figures: `paper.tex`, `paper.csv`, `paper_<metric>.pdf`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.files import write_text
from bnnbench.notes import note
from bnnbench.report.blocks import ERROR_BARS
from bnnbench.report.figures.plotting import save_figures
from bnnbench.report.figures.points import Form, Panel, Point, points_figure
from bnnbench.report.paper.latex_cells import PADDED, NumberFormat
from bnnbench.report.paper.latex_table import NOT_TESTED, Layout, best_layout, latex_document
from bnnbench.report.paper.paper_table import COMPARED, NO_SCORE, PaperTable, name_in_sentence
from bnnbench.report.report_folder import ReportFolder
from bnnbench.results.metric_table import Metric

FILE_STEM = "paper"
"""Common beginning of the file names."""


def write_paper(
    table: PaperTable,
    report: ReportFolder,
    numbers: NumberFormat = PADDED,
    error: str = "stderr",
    processes: int = 1,
) -> Layout:
    """Write all files and return the layout of the table."""
    layout = best_layout(table, numbers)
    write_text(report.root / f"{FILE_STEM}.tex", latex_document(table, layout))
    write_text(report.table(FILE_STEM), pd.DataFrame(rows(table)).to_csv(index=False))
    figures = {
        f"{FILE_STEM}_{metric.key}": partial(paper_figure, table, metric, error)
        for metric in table.metrics
    }
    for error in save_figures(figures, report.figure, ("pdf",), processes).values():
        note(error)
    return layout


def rows(table: PaperTable) -> Iterator[dict[str, Any]]:
    """Every cell at full precision."""
    for metric in table.metrics:
        for dataset in table.datasets:
            for one in table.entries:
                cell = table.cells.get((dataset, one.key, metric.key))
                if cell is not None and math.isfinite(cell.mean):
                    yield {
                        "dataset": dataset,
                        "method": one.key.partition("\n")[0],
                        "name": one.name,
                        "published": int(one.published),
                        "metric": metric.key,
                        "mean": cell.mean,
                        "stderr": cell.stderr,
                        "std": cell.std,
                        "bold": int(cell.best),
                        **{f"best_{key}": cell.against_best.get(key, "") for key in COMPARED},
                        **{
                            f"mine_{key}": cell.against_mine.get(key, "")
                            for key in COMPARED
                            if table.mine
                        },
                    }


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
