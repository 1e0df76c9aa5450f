"""Writes the table of a paper and its figures: `paper.tex`, `paper.csv`, `paper_<metric>.pdf`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from bnnbench.files import write_text
from bnnbench.report.figures.saving import save_all
from bnnbench.report.folder import ReportFolder
from bnnbench.report.paper.contents import PaperTable
from bnnbench.report.paper.figure import points_figure
from bnnbench.report.paper.latex import document
from bnnbench.report.paper.layout import Layout, best_layout

NAME = "paper"
"""Of its files."""


def write_paper(
    table: PaperTable, report: ReportFolder, error: str = "stderr", processes: int = 1
) -> Layout:
    """Writes everything, and returns how the table is laid out.

    Args:
        table: the contents.
        report: where to.
        error: what the error bars of figures show, a key of `ERRORS`.
        processes: that may draw side by side.
    """
    layout = best_layout(table)
    write_text(report.root / f"{NAME}.tex", document(table, layout))
    write_text(report.table(NAME), pd.DataFrame(rows(table)).to_csv(index=False))
    drawings = {
        f"{NAME}_{metric.key}": partial(points_figure, table, metric, error)
        for metric in table.metrics
    }
    save_all(drawings, report.figure, ("pdf",), processes)
    return layout


def rows(table: PaperTable) -> Iterator[dict[str, Any]]:
    """Every cell at full precision."""
    for metric in table.metrics:
        for dataset in table.datasets:
            for one in table.contenders:
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
                    }
