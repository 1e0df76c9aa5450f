"""How often k predicted deviations hold a target, on made data (GVI thesis, Figs. 5.10-5.12)."""

from __future__ import annotations

from functools import partial

import pandas as pd

from bnnbench.report.figures.interval_coverage import sigma_figure
from bnnbench.report.section import (
    Data,
    Drawing,
    Heading,
    Paragraph,
    Section,
    Style,
    by_group,
    numbers,
    words,
)
from bnnbench.results.curves import curves_of
from bnnbench.results.interval_coverage import sigma_table
from bnnbench.results.labels import in_common
from bnnbench.results.reader import Runs

ORDER = 10

COLUMNS = (*words("Method"), *numbers("Depth", "Inside 1 sigma", "Difference"))

SIGMA_STATEMENT = (
    "The share of noisy test targets within k total predictive deviations of the predictive mean, "
    "at test inputs inside the range of the training inputs; a Gaussian holds 0.683 within one. "
    "Above the dashed line a model is too cautious, below it too sure."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Calibration along the input; None without runs on made data."""
    curves = runs.once(curves_of)
    if not curves:
        return None
    table = sigma_table(curves)
    rows = [
        (row["label"], str(row["depth"]), f"{row['inside_1']:.2f}", f"{row['difference']:.2f}")
        for row in table.to_dict("records")
    ]
    caption = "Share of targets within k deviations, a line per run"
    title = in_common(pd.DataFrame([curve.run for curve in curves]))
    return Section((
        Heading("Inside k deviations"),
        Paragraph(SIGMA_STATEMENT),
        *by_group(COLUMNS, table["dataset"], rows),
        Data("sigma", table),
        Drawing("sigma", caption, partial(sigma_figure, curves, title)),
    ))  # fmt: skip
