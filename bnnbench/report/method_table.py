"""The table of the methods that `recommend` compared."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from bnnbench.report.blocks import Column, Row, TableBlock, fill, plus_minus


def _score(name: str) -> Callable[[Row], str]:
    return lambda row: plus_minus(row[name], row[f"{name}_stderr"])


COLUMNS = (
    Column("Method", "label", "{method}"),
    Column("Log-likelihood", cell=_score("log_likelihood")),
    Column("RMSE", cell=_score("rmse")),
    Column("Coverage, 90 %", cell="{coverage_90:.1%}"),
    Column("Total [s]", cell="{seconds:.2g}"),
    Column("Against the best", "label", "{outcome}"),
)


def method_table(table: pd.DataFrame) -> TableBlock:
    """Return the table of a `Recommendation` for print."""
    caption = (
        "Mean ± standard error over splits; coverage of the 90 % intervals; seconds per split, "
        "with the search."
    )
    return fill(COLUMNS, table.reset_index(), caption=caption)
