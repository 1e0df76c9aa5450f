"""Information criteria of runs that scored their training rows (GVI thesis, 5.0.2)."""

from __future__ import annotations

from typing import Any

from bnnbench.report.blocks import (
    DataFile,
    Heading,
    Paragraph,
    Section,
    Style,
    label_columns,
    number_columns,
    tables_by_group,
)
from bnnbench.report.formatting import format_number
from bnnbench.results.information_criteria import CRITERIA, criteria_table
from bnnbench.results.labels import labels, marked_labels
from bnnbench.results.reader import Runs

COLUMNS = (*label_columns("Method"), *number_columns("Depth", "p", "n", *CRITERIA.values()))

CRITERIA_STATEMENT = (
    "NLL: negative log predictive density, averaged over weight samples and summed over the n "
    "training points, in original units. The likelihood is thus the predictive likelihood of the "
    "training data, not its maximum. p is the number of fitted parameters: means and standard "
    "deviations for a Gaussian over the weights, the weights of all members for an ensemble. "
    "BIC = p ln n + 2 NLL, AIC = 2 p + 2 NLL, HQC = 2 p ln ln n + 2 NLL; means over splits. The "
    "complexity term dominates all three, so compare models by the NLL."
)

NAMED = ("experiment", "dataset", "method", "divergence", "depth", "splits")


def section(runs: Runs, style: Style) -> Section | None:
    """BIC, AIC, HQC and NLL; None if no run scored its training rows."""
    scores = runs.cached(criteria_table)
    if scores.empty:
        return None
    own = runs.scored.loc[scores.index]
    names = own[list(NAMED)].assign(label=labels(own, ignore=("depth",)))
    table = names.join(scores).sort_values(["dataset", "depth", "label"])
    shown = table.assign(label=marked_labels(own, ignore=("depth",)))
    rows = [cells(row) for row in shown.to_dict("records")]
    return Section((
        Heading("Information criteria"),
        Paragraph(CRITERIA_STATEMENT),
        *tables_by_group(COLUMNS, table["dataset"], rows),
        DataFile("criteria", table),
    ))  # fmt: skip


def cells(row: dict[Any, Any]) -> tuple[str, ...]:
    """The cells of a run under `COLUMNS`."""
    counts = (str(row["depth"]), str(row["parameters"]), f"{row['rows']:g}")
    return (row["label"], *counts, *(format_number(row[name], ".0f") for name in CRITERIA))
