"""Our toy compared with the thesis's tables (section 5.0.2 and appendix)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from bnnbench.report.blocks import Block, DataFile, Heading, Paragraph, columns, fill
from bnnbench.report.sections.information_criteria import CRITERIA, criteria_table
from bnnbench.report.sections.interval_coverage import sigma_table
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.curves import read_curves
from bnnbench.suites.felekis_gvi.thesis_tables import thesis_row

SIGMA_STATEMENT = (
    "The thesis counts predicted points inside an interval of the true distribution and calls a "
    "difference of at most 0.1 well calibrated; it interprets its curves as we do here."
)

CRITERIA_STATEMENT = (
    "The thesis's criteria agree up to rounding with p = means and standard deviations of all "
    "weights (804, 41604 and 81404) and n = 401: BIC - AIC = p (ln n - 2) gives n = 401 in all "
    "rows except three misprinted ones. The remainder, its -2 ln L, lies between -173 and 209 and "
    "is not twice its printed negative log-likelihood; the thesis does not say on which points "
    "either is computed. Therefore the p terms are comparable but the fits are not."
)

SIGMA_COLUMNS = columns(
    {"Method": "{label}"},
    {
        "Depth": "{depth}",
        "Inside 1 sigma": "{inside_1:.2f}",
        "Difference": "{difference:.2f}",
        "Thesis": "{inside_1_thesis:.2f}",
        "Thesis difference": "{difference_thesis:.2f}",
    },
)

CRITERIA_COLUMNS = columns(
    {"Method": "{label}"},
    {
        "Depth": "{depth}",
        **{title: f"{{{name}:.0f}}" for name, title in CRITERIA.items()},
        **{f"{title}, thesis": f"{{{name}_thesis:.0f}}" for name, title in CRITERIA.items()},
    },
)

PRINTED_SIGMA = {"predicted_probability": "inside_1_thesis", "difference": "difference_thesis"}
"""Names in our table by column of the thesis's table."""

PRINTED_CRITERIA = {name: f"{name}_thesis" for name in CRITERIA}


def sigma_blocks(runs: Runs) -> Iterator[Block]:
    """Yield the blocks on coverage at one standard deviation, if there are matching runs."""
    curves = runs.cached(read_curves)
    records = [curve.run for curve in curves]
    table = add_thesis_values(sigma_table(curves), records, "calibration", PRINTED_SIGMA)
    if len(table):
        yield Heading("Coverage at one standard deviation", 3)
        yield Paragraph(SIGMA_STATEMENT)
        yield fill(SIGMA_COLUMNS, table)
        yield DataFile("toy_calibration", table)


def criteria_blocks(runs: Runs) -> Iterator[Block]:
    """Yield the blocks on information criteria, if there are matching runs."""
    criteria = runs.cached(criteria_table)
    if criteria.empty:
        return
    scored = runs.scored.loc[criteria.index]
    scored = scored.assign(label=labels(scored, ignore=("depth",)))
    names = ["experiment", "dataset", "method", "divergence", "depth", "label"]
    table = scored[names].join(criteria).reset_index()
    table = add_thesis_values(table, scored.to_dict("records"), "criteria", PRINTED_CRITERIA)
    if len(table):
        table = table.sort_values(["depth", "label"])
        yield Heading("Information criteria", 3)
        yield Paragraph(CRITERIA_STATEMENT)
        yield fill(CRITERIA_COLUMNS, table)
        yield DataFile("toy_criteria", table)


def add_thesis_values(
    table: pd.DataFrame, runs: list[Mapping[str, Any]], name: str, columns: Mapping[str, str]
) -> pd.DataFrame:
    """Return the rows that are in the thesis's table, with its numbers added.

    `runs` has the metadata of each row's record; `columns` our names by the thesis's.
    """
    printed = [thesis_row(name, run) for run in runs]
    is_printed = [bool(row) for row in printed]
    added = {new: [row[old] for row in printed if row] for old, new in columns.items()}
    return table[is_printed].assign(**added) if any(is_printed) else pd.DataFrame()
