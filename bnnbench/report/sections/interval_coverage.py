"""Coverage of mean ± k standard deviations, on one-dimensional data (GVI thesis, Figs. 5.10-12)."""

from __future__ import annotations

from functools import partial

import pandas as pd

from bnnbench.report.blocks import (
    DataFile,
    FigureBlock,
    Heading,
    Paragraph,
    Section,
    Style,
    label_columns,
    number_columns,
    tables_by_group,
)
from bnnbench.report.figures.interval_coverage import interval_coverage_figure
from bnnbench.results.curves import read_curves
from bnnbench.results.interval_coverage import sigma_table
from bnnbench.results.labels import common_settings
from bnnbench.results.reader import Runs

COLUMNS = (*label_columns("Method"), *number_columns("Depth", "1 sigma coverage", "Difference"))

SIGMA_STATEMENT = (
    "The fraction of noisy test targets within k total predictive standard deviations of the "
    "predictive mean, at test inputs within the range of the training inputs. A Gaussian covers "
    "0.683 at k = 1. Above the Gaussian curve a model is underconfident, below it overconfident."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Coverage inside the range of the training inputs; None without one-dimensional runs."""
    curves = runs.cached(read_curves)
    if not curves:
        return None
    table = sigma_table(curves)
    rows = [
        (row["label"], str(row["depth"]), f"{row['inside_1']:.2f}", f"{row['difference']:.2f}")
        for row in table.to_dict("records")
    ]
    caption = (
        "Fraction of test targets within k standard deviations, one line per run; dashed line: "
        "Gaussian"
    )
    title = common_settings(pd.DataFrame([curve.run for curve in curves]))
    return Section((
        Heading("Coverage of mean ± k standard deviations"),
        Paragraph(SIGMA_STATEMENT),
        *tables_by_group(COLUMNS, table["dataset"], rows),
        DataFile("sigma", table),
        FigureBlock("sigma", caption, partial(interval_coverage_figure, curves, title)),
    ))  # fmt: skip
