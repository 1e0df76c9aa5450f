"""Writes a paper's table and figures: `paper.tex`, `paper.csv`, `paper_<metric>.pdf`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from bnnbench.files import write_text
from bnnbench.notes import note
from bnnbench.report.figures.plotting import save_figures
from bnnbench.report.paper.figure import paper_figure
from bnnbench.report.paper.latex import latex_document
from bnnbench.report.paper.latex_numbers import PADDED, NumberFormat
from bnnbench.report.paper.layout import Layout, best_layout
from bnnbench.report.paper.paper_table import PaperTable
from bnnbench.report.paper.score_cells import COMPARED
from bnnbench.report.report_folder import ReportFolder

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
