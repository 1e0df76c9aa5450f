"""Predictions on one-dimensional synthetic data (book, Figs. 4.12, 4.13; GVI thesis, Fig. 5.8)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pandas as pd

from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Style,
    columns,
    even_chunks,
    fill_by,
    numbered_name,
)
from bnnbench.report.figures.curves import curves_figure
from bnnbench.results.curves import curve_table, read_curves
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

COLUMNS = columns(
    {"Method": "{label}"},
    {
        "Depth": "{depth}",
        **{
            f"{title}, {where}": f"{{{name}_{where}:.3g}}"
            for name, title in {
                "rmse": "RMSE to the true function",
                "epistemic": "epistemic std",
                "total": "total std",
                "coverage_95": "95 % coverage",
            }.items()
            for where in ("in", "out")
        },
    },
)

CAPTION = (
    "Predictions along the input. Bands: predictive mean ± 2 total (light) and ± 2 epistemic "
    "(dark) standard deviations; dashed line: true function; dots: training data"
)


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """A table per data set and a panel per run on one-dimensional data."""
    curves = runs.cached(read_curves)
    if not curves:
        return
    table = curve_table(curves)
    yield Heading("Predictive distribution along the input")
    yield Paragraph(CURVES_STATEMENT)
    yield from fill_by("dataset", COLUMNS, table)
    yield DataFile("curves", table)
    names = list(dict.fromkeys(curve.run["label"] for curve in curves))
    for number, chunk in enumerate(even_chunks(names, MAX_ROWS), 1):
        shown = [curve for curve in curves if curve.run["label"] in chunk]
        draw = partial(curves_figure, shown, common_settings(pd.DataFrame([c.run for c in shown])))
        yield FigureBlock(numbered_name("curves", number), CAPTION, draw)
