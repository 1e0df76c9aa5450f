"""Information criteria of runs that scored their training rows (GVI thesis, 5.0.2)."""

from __future__ import annotations

from collections.abc import Iterator

from bnnbench.report.blocks import Block, DataFile, Heading, Paragraph, Style, columns, fill_by
from bnnbench.results.information_criteria import CRITERIA, criteria_table
from bnnbench.results.labels import labels, marked_labels
from bnnbench.results.reader import Runs

COLUMNS = columns(
    {"Method": "{marked_label}"},
    {
        "Depth": "{depth}",
        "p": "{parameters}",
        "n": "{rows:g}",
        **{title: f"{{{name}:.0f}}" for name, title in CRITERIA.items()},
    },
)

CRITERIA_STATEMENT = (
    "NLL: negative log predictive density, averaged over weight samples and summed over the n "
    "training points, in original units. The likelihood is thus the predictive likelihood of the "
    "training data, not its maximum. p is the number of fitted parameters: means and standard "
    "deviations for a Gaussian over the weights, the weights of all members for an ensemble. "
    "BIC = p ln n + 2 NLL, AIC = 2 p + 2 NLL, HQC = 2 p ln ln n + 2 NLL; means over splits. The "
    "complexity term dominates all three, so compare models by the NLL."
)

NAMED = ("experiment", "dataset", "method", "divergence", "depth", "splits")


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """BIC, AIC, HQC and NLL of the runs that scored their training rows."""
    scores = runs.cached(criteria_table)
    if scores.empty:
        return
    own = runs.scored.loc[scores.index]
    names = own[list(NAMED)].assign(label=labels(own, ignore=("depth",)))
    table = names.join(scores).sort_values(["dataset", "depth", "label"])
    yield Heading("Information criteria")
    yield Paragraph(CRITERIA_STATEMENT)
    marked = marked_labels(own, ignore=("depth",))
    yield from fill_by("dataset", COLUMNS, table.assign(marked_label=marked))
    yield DataFile("criteria", table)
