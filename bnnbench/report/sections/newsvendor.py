"""Costs of decisions (the newsvendor problem)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bnnbench.report import blocks
from bnnbench.results.newsvendor import LEVELS
from bnnbench.results.reader import Runs
from bnnbench.results.split_scores import split_scores

SHOWN_VALUE = 0.9
"""Level whose relative costs are printed."""

STATEMENT = (
    "A decision that needs a quantile: stock for a demand, the target, that is not known yet. A "
    "missing unit costs q, a unit left over 1 - q, so the best stock is the quantile q of the "
    "predictive distribution. Cost: mean over test points, in units of the target; at q = 0.5 it "
    "is half the absolute error. Value of uncertainty: 1 - cost / cost of adding one quantile of "
    "the out-of-fold residuals to all predictive means; it is positive if the method knows which "
    "points are uncertain. Value of inputs: the same for the quantile of the training targets. "
    "Predictive distributions that were not saved are taken as Gaussian. Mean ± standard error "
    "over splits."
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Costs of every run with predictions."""
    table = runs.cached(split_scores)["newsvendor"]
    if table.empty:
        return
    groups = table.groupby(["dataset", "run", "label", "level"], sort=False)
    scores = groups[["cost", "value_of_uncertainty", "value_of_inputs"]]
    both = scores.mean().join(scores.sem().add_suffix("_stderr")).unstack()
    both.columns = pd.Index([f"{name}_{level:g}" for name, level in both.columns])
    cells: dict[str, Any] = {
        f"Cost at q = {level:g}": blocks.with_stderr(f"cost_{level:g}", f"cost_stderr_{level:g}")
        for level in LEVELS
    } | {
        f"Value of {name}": blocks.with_stderr(
            f"value_of_{name}_{SHOWN_VALUE:g}", f"value_of_{name}_stderr_{SHOWN_VALUE:g}"
        )
        for name in ("uncertainty", "inputs")
    }
    yield blocks.Heading("Decisions: the newsvendor problem")
    yield blocks.Paragraph(STATEMENT)
    columns = blocks.columns({"Method": "{label}"}, cells)
    yield from blocks.fill_by("dataset", columns, both.reset_index())
    yield blocks.DataFile("newsvendor", table, "Costs of every split:")
