"""Information criteria of runs that scored the rows they were trained on (GVI thesis, 5.0.2)."""

from __future__ import annotations

from typing import Any

from bnnbench.report.numbers import number
from bnnbench.report.section import (
    Data,
    Heading,
    Paragraph,
    Section,
    Style,
    by_group,
    numbers,
    words,
)
from bnnbench.results.information_criteria import CRITERIA, criteria_table
from bnnbench.results.labels import labels, marked_labels
from bnnbench.results.reader import Runs

ORDER = 11

COLUMNS = (*words("Method"), *numbers("Depth", "p", "n", *CRITERIA.values()))

CRITERIA_STATEMENT = (
    "NLL: minus the sum over the training points of the log of the density averaged over weight "
    "samples, original units; so L is the predictive likelihood of the data that were fitted, not "
    "a maximum. p counts every number that a fit learns: for a Gaussian over the weights their "
    "means and deviations, for an ensemble the weights of all members. BIC = p ln n + 2 NLL, AIC = "
    "2 p + 2 NLL, HQC = 2 p ln ln n + 2 NLL; means over splits. The complexity term rules all "
    "three, so what compares models is the NLL."
)

NAMED = ("experiment", "dataset", "method", "divergence", "depth", "splits")


def section(runs: Runs, style: Style) -> Section | None:
    """BIC, AIC, HQC and the negative log-likelihood; None where no run scored its training part."""
    scores = runs.once(criteria_table)
    if scores.empty:
        return None
    own = runs.scored.loc[scores.index]
    names = own[list(NAMED)].assign(label=labels(own, aside=("depth",)))
    table = names.join(scores).sort_values(["dataset", "depth", "label"])
    shown = table.assign(label=marked_labels(own, aside=("depth",)))
    rows = [cells(row) for row in shown.to_dict("records")]
    return Section((
        Heading("Information criteria"),
        Paragraph(CRITERIA_STATEMENT),
        *by_group(COLUMNS, table["dataset"], rows),
        Data("criteria", table),
    ))  # fmt: skip


def cells(row: dict[Any, Any]) -> tuple[str, ...]:
    """The printed cells of a run under `COLUMNS`."""
    counts = (str(row["depth"]), str(row["parameters"]), f"{row['rows']:g}")
    return (row["label"], *counts, *(number(row[name], ".0f") for name in CRITERIA))
