"""Effect of rounding: estimators with the same initial weights and random numbers.

Repetitions of the same number start from the same weights and see the same random numbers in every
configuration. Estimators of one divergence are one algorithm, so such repetitions differ only by
single-precision rounding, which training amplifies.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd

from bnnbench.report.blocks import (
    Block,
    DataFile,
    Heading,
    Paragraph,
    Table,
    label_columns,
    number_columns,
)
from bnnbench.report.formatting import format_number, plus_minus
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.published import Cell
from bnnbench.suites.lam_density_ratio.comparison.statistics import summarise
from bnnbench.suites.lam_density_ratio.names import ESTIMATORS, SYMBOLS

STATEMENT = (
    "Repetitions of the same number start from the same weights and see the same random numbers, "
    "so that between D, r and T they differ by rounding only. First and last distance: mean "
    "absolute difference of the average KL of such repetitions at the first evaluation, after the "
    "estimator's pre-training, and at the last. Independent distance: the same at the last "
    "evaluation for repetitions of different numbers and the same estimator. Difference: mean "
    "signed difference at the last evaluation."
)

COLUMNS = (
    *label_columns("Pair"),
    *number_columns(
        "Repetitions", "First distance", "Last distance", "Independent distance", "Difference"
    ),
)


def shared_blocks(evidence: Evidence) -> Iterator[Block]:
    """Yield the table, if two estimators of one divergence were run."""
    rows = list(shared_rows(evidence))
    if rows:
        cells = tuple(
            (
                row["pair"],
                str(row["repetitions"]),
                format_number(row["first_distance"], ".4f"),
                format_number(row["last_distance"], ".4f"),
                format_number(row["independent_distance"], ".4f"),
                plus_minus(row["difference"], row["difference_stderr"]),
            )
            for row in rows
        )
        yield Heading("Effect of rounding", 3)
        yield Paragraph(STATEMENT)
        yield Table(COLUMNS, cells)
        yield DataFile("density_ratio_shared_starts", pd.DataFrame(rows))


def shared_rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Yield a row per pair of runs that differ only in their estimator, at full precision."""
    for (first, first_run), (second, second_run) in combinations(sorted(evidence.runs.items()), 2):
        if {first.estimator, second.estimator} <= set(ESTIMATORS) and _same_settings(
            first_run, second_run
        ):
            yield from _row(first, first_run, second, second_run)


def _same_settings(first: SprinklerRun, second: SprinklerRun) -> bool:
    """Return whether two runs differ only in their estimator."""
    rest = [{k: v for k, v in run.metadata.items() if k != "estimator"} for run in (first, second)]
    return rest[0] == rest[1]


def _row(
    first: Cell, first_run: SprinklerRun, second: Cell, second_run: SprinklerRun
) -> Iterator[dict[str, Any]]:
    wide = [
        run.finished_curves.pivot(index="repetition", columns="iteration", values="average_kl")
        for run in (first_run, second_run)
    ]
    shared = wide[0].index.intersection(wide[1].index)
    if len(shared) < 2:
        return
    a, b = (table.loc[shared] for table in wide)
    distance = (a - b).abs().mean()
    last = summarise((a - b).iloc[:, -1].tolist())
    yield {
        "pair": f"{first.setting}, {first.name} - {SYMBOLS[second.estimator]}",
        "repetitions": len(shared),
        "first_distance": distance.iloc[0],
        "last_distance": distance.iloc[-1],
        "independent_distance": (_mean_distance(a.iloc[:, -1]) + _mean_distance(b.iloc[:, -1])) / 2,
        "difference": last.mean,
        "difference_stderr": last.stderr,
    }


def _mean_distance(values: pd.Series) -> float:
    """Return the mean absolute difference of all pairs."""
    pairs = list(combinations(values, 2))
    return sum(abs(a - b) for a, b in pairs) / len(pairs)
