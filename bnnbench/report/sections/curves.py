"""Predictions along one input, on made data (book, Figs. 4.12 and 4.13; GVI thesis, Fig. 5.8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from bnnbench.report.figures.curves import curves_figure
from bnnbench.report.section import (
    Data,
    Drawing,
    Heading,
    Paragraph,
    Section,
    Style,
    by_group,
    numbered,
    numbers,
    parts,
    words,
)
from bnnbench.results.curves import Curve, curve_table, curves_of
from bnnbench.results.labels import in_common
from bnnbench.results.reader import Runs

ORDER = 9

MOST_ROWS = 8
"""Rows of panels on one figure; further runs go on further figures."""

CURVES_STATEMENT = (
    "Inside: test inputs within the range of the training inputs; outside: farther from it than a "
    "quarter of its width. RMSE is that of the predictive mean against the function without noise; "
    "epistemic (the model's own uncertainty) and total deviations are averages; the last columns "
    "say how many noisy test targets the central 95 % interval (mean ± 1.96 total deviations) "
    "holds. One data set, one split: no error bars."
)

NUMBERS = {
    f"{name}_{where}": f"{title}, {where}"
    for name, title in {
        "rmse": "RMSE to the truth",
        "epistemic": "epistemic deviation",
        "total": "total deviation",
        "coverage_95": "95 % holds",
    }.items()
    for where in ("in", "out")
}
"""Column of `curve_table` to its head."""


def section(runs: Runs, style: Style) -> Section | None:
    """Tables by data set and panels by run; None without runs on made data."""
    curves = runs.once(curves_of)
    if not curves:
        return None
    table = curve_table(curves)
    rows = [cells(row) for row in table.to_dict("records")]
    columns = (*words("Method"), *numbers("Depth", *NUMBERS.values()))
    return Section((
        Heading("Along the input"),
        Paragraph(CURVES_STATEMENT),
        *by_group(columns, table["dataset"], rows),
        Data("curves", table),
        *drawings(curves),
    ))  # fmt: skip


def cells(row: dict[Any, Any]) -> tuple[str, ...]:
    """The printed cells of a row of `curve_table`."""
    return (row["label"], str(row["depth"]), *(f"{row[name]:.3g}" for name in NUMBERS))


def drawings(curves: Sequence[Curve]) -> list[Drawing]:
    """Figures of at most `MOST_ROWS` labels each."""
    names = list(dict.fromkeys(curve.run["label"] for curve in curves))
    found = []
    for place, part in enumerate(parts(len(names), MOST_ROWS), 1):
        own = [c for c in curves if c.run["label"] in names[part.start : part.stop]]
        caption = "Data, true function, predictive mean and bands"
        title = in_common(pd.DataFrame([curve.run for curve in own]))
        found.append(
            Drawing(numbered("curves", place), caption, partial(curves_figure, own, title))
        )
    return found
