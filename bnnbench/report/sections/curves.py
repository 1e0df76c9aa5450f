"""Predictions on one-dimensional synthetic data (book, Figs. 4.12, 4.13; GVI thesis, Fig. 5.8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from bnnbench.report.blocks import (
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Section,
    Style,
    even_chunks,
    label_columns,
    number_columns,
    numbered_name,
    tables_by_group,
)
from bnnbench.report.figures.curves import curves_figure
from bnnbench.results.curves import Curve, curve_table, read_curves
from bnnbench.results.labels import common_settings
from bnnbench.results.reader import Runs

MAX_ROWS = 8
"""Rows of panels in one figure. Further runs are drawn in further figures."""

CURVES_STATEMENT = (
    "Inside: test inputs within the range of the training inputs. Outside: test inputs farther "
    "from this range than a quarter of its width. RMSE is the error of the predictive mean with "
    "respect to the noise-free function. Epistemic and total standard deviations are averages "
    "over test inputs. The last columns give the fraction of noisy test targets inside the "
    "central 95 % interval (mean ± 1.96 total standard deviations). There is one split, hence no "
    "standard error."
)

NUMBERS = {
    f"{name}_{where}": f"{title}, {where}"
    for name, title in {
        "rmse": "RMSE to the true function",
        "epistemic": "epistemic std",
        "total": "total std",
        "coverage_95": "95 % coverage",
    }.items()
    for where in ("in", "out")
}
"""Headings of the columns of `curve_table`."""


def section(runs: Runs, style: Style) -> Section | None:
    """A table per data set and a panel per run; None without runs on one-dimensional data."""
    curves = runs.cached(read_curves)
    if not curves:
        return None
    table = curve_table(curves)
    rows = [cells(row) for row in table.to_dict("records")]
    columns = (*label_columns("Method"), *number_columns("Depth", *NUMBERS.values()))
    return Section((
        Heading("Predictive distribution along the input"),
        Paragraph(CURVES_STATEMENT),
        *tables_by_group(columns, table["dataset"], rows),
        DataFile("curves", table),
        *figures(curves),
    ))  # fmt: skip


def cells(row: dict[Any, Any]) -> tuple[str, ...]:
    """The cells of a row of `curve_table`."""
    return (row["label"], str(row["depth"]), *(f"{row[name]:.3g}" for name in NUMBERS))


def figures(curves: Sequence[Curve]) -> list[FigureBlock]:
    """Figures with at most `MAX_ROWS` runs per data set each."""
    names = list(dict.fromkeys(curve.run["label"] for curve in curves))
    caption = (
        "Predictions along the input. Bands: predictive mean ± 2 total (light) and ± 2 epistemic "
        "(dark) standard deviations; dashed line: true function; dots: training data"
    )
    blocks = []
    for number, chunk in enumerate(even_chunks(len(names), MAX_ROWS), 1):
        shown = [c for c in curves if c.run["label"] in names[chunk.start : chunk.stop]]
        draw = partial(curves_figure, shown, common_settings(pd.DataFrame([c.run for c in shown])))
        blocks.append(FigureBlock(numbered_name("curves", number), caption, draw))
    return blocks
