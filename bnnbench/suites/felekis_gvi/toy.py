"""Our toy beside what the thesis prints of its own (section 5.0.2 and appendix)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bnnbench.report.numbers import number
from bnnbench.report.section import (
    Block,
    Data,
    Heading,
    Paragraph,
    Table,
    numbers,
    words,
)
from bnnbench.results.curves import curves_of
from bnnbench.results.information_criteria import CRITERIA, criteria_table
from bnnbench.results.interval_coverage import sigma_table
from bnnbench.results.labels import labels
from bnnbench.results.reader import Runs
from bnnbench.suites.felekis_gvi.printed import theirs

SIGMA_STATEMENT = (
    "The thesis counts predicted points inside an interval of the true distribution, calls a "
    "difference of at most 0.1 well calibrated, and reads its curves as here."
)

CRITERIA_STATEMENT = (
    "The thesis's printed criteria follow p = means and deviations of all weights (804, 41604 and "
    "81404) and n = 401 to rounding: BIC - AIC = p (ln n - 2) gives 401 in all rows but three "
    "misprinted ones. What is left, its -2 ln L, lies between -173 and 209 and is not twice its "
    "printed negative log-likelihood; of which points either is, it does not say. So the p terms "
    "compare and the fits do not."
)

SIGMA_COLUMNS = (
    *words("Method"),
    *numbers("Depth", "Inside 1 sigma", "Difference", "Thesis", "Its difference"),
)

CRITERIA_COLUMNS = (
    *words("Method"),
    *numbers("Depth", *CRITERIA.values(), *(f"{name}, thesis" for name in CRITERIA.values())),
)

PRINTED_SIGMA = {"predicted_probability": "inside_1_thesis", "difference": "difference_thesis"}
"""Columns of the thesis's table, and their names beside ours."""

PRINTED_CRITERIA = {name: f"{name}_thesis" for name in CRITERIA}


def sigma_blocks(runs: Runs) -> tuple[Block, ...]:
    """The shares inside one deviation; nothing where the thesis prints none of these runs."""
    curves = runs.once(curves_of)
    table = with_printed(sigma_table(curves), [c.run for c in curves], "calibration", PRINTED_SIGMA)
    if table.empty:
        return ()
    columns = ("inside_1", "difference", *PRINTED_SIGMA.values())
    return (
        Heading("Inside one deviation", 3),
        Paragraph(SIGMA_STATEMENT),
        Table(SIGMA_COLUMNS, rows_of(table, columns, ".2f")),
        Data("toy_calibration", table),
    )


def criteria_blocks(runs: Runs) -> tuple[Block, ...]:
    """Information criteria; nothing where the thesis prints none of these runs."""
    criteria = runs.once(criteria_table)
    own = runs.scored.loc[criteria.index]
    own = own.assign(label=labels(own, aside=("depth",))) if len(own) else own
    names = ["experiment", "dataset", "method", "divergence", "depth", "label"]
    table = own[names].join(criteria).reset_index() if len(own) else own
    table = with_printed(table, own.to_dict("records"), "criteria", PRINTED_CRITERIA)
    if table.empty:
        return ()
    table = table.sort_values(["depth", "label"])
    columns = (*CRITERIA, *PRINTED_CRITERIA.values())
    return (
        Heading("Information criteria", 3),
        Paragraph(CRITERIA_STATEMENT),
        Table(CRITERIA_COLUMNS, rows_of(table, columns, ".0f")),
        Data("toy_criteria", table),
    )


def with_printed(
    table: pd.DataFrame, runs: list[Mapping[str, Any]], name: str, columns: Mapping[str, str]
) -> pd.DataFrame:
    """The rows of which the thesis prints something, with what it prints.

    Args:
        table: a row per run.
        runs: the names of each run's record, in the same order.
        name: of the thesis's table, `calibration` or `criteria`.
        columns: its columns, and their names here.
    """
    printed = [theirs(name, run) for run in runs]
    there = [bool(row) for row in printed]
    beside = {new: [row[old] for row in printed if row] for old, new in columns.items()}
    return table[there].assign(**beside) if any(there) else pd.DataFrame()


def rows_of(
    table: pd.DataFrame, columns: tuple[str, ...], form: str
) -> tuple[tuple[str, ...], ...]:
    """The printed cells: label, depth and some numbers."""
    return tuple(
        (row["label"], str(row["depth"]), *(number(row[name], form) for name in columns))
        for row in table.to_dict("records")
    )
