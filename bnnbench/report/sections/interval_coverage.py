"""Coverage of mean ± k standard deviations, on one-dimensional data (GVI thesis, Figs. 5.10-12)."""

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
    fill_by,
)
from bnnbench.report.figures.interval_coverage import interval_coverage_figure
from bnnbench.results.curves import read_curves
from bnnbench.results.interval_coverage import sigma_table
from bnnbench.results.labels import common_settings
from bnnbench.results.reader import Runs

COLUMNS = columns(
    {"Method": "{label}"},
    {
        "Depth": "{depth}",
        "1 sigma coverage": "{inside_1:.2f}",
        "Difference": "{difference:.2f}",
    },
)

CAPTION = (
    "Fraction of test targets within k standard deviations, one line per run; dashed line: Gaussian"
)

SIGMA_STATEMENT = (
    "The fraction of noisy test targets within k total predictive standard deviations of the "
    "predictive mean, at test inputs within the range of the training inputs. A Gaussian covers "
    "0.683 at k = 1. Above the Gaussian curve a model is underconfident, below it overconfident."
)


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """Coverage inside the range of the training inputs, for one-dimensional runs."""
    curves = runs.cached(read_curves)
    if not curves:
        return
    table = sigma_table(curves)
    title = common_settings(pd.DataFrame([curve.run for curve in curves]))
    yield Heading("Coverage of mean ± k standard deviations")
    yield Paragraph(SIGMA_STATEMENT)
    yield from fill_by("dataset", COLUMNS, table)
    yield DataFile("sigma", table)
    yield FigureBlock("sigma", CAPTION, partial(interval_coverage_figure, curves, title))
