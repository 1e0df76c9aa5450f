"""What rounding alone does: estimators from the same weights and with the same random numbers.

Repetitions of one number start alike and see the same numbers in every configuration. Two
estimators of one divergence are one algorithm, so that their repetitions of one number differ by
nothing but the rounding of single precision, which training then makes larger and larger.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd

from bnnbench.report.numbers import number, plus_minus
from bnnbench.report.section import Block, Data, Heading, Paragraph, Table, numbers, words
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.published import ESTIMATORS, Cell
from bnnbench.suites.lam_density_ratio.comparison.statistics import sample_of

STATEMENT = (
    "Repetitions of one number start from the same weights and see the same random numbers, "
    "whatever the estimator: between D, r and T they differ by rounding alone. The columns have "
    "the average KL of one less that of the other, for repetitions of the same number: how far "
    "apart they are on average at the first evaluation, after the estimator's pre-training, and at "
    "the last; and beside it how far apart two repetitions of different numbers are, of the same "
    "estimator."
)

COLUMNS = (
    *words("Pair"),
    *numbers("Repetitions", "Apart at first", "Apart at last", "Other numbers", "Difference"),
)


def shared_blocks(evidence: Evidence) -> Iterator[Block]:
    """The table; nothing where no two estimators of one divergence have run."""
    rows = list(shared_rows(evidence))
    if rows:
        cells = tuple(
            (
                row["pair"],
                str(row["repetitions"]),
                number(row["apart_first"], ".4f"),
                number(row["apart_last"], ".4f"),
                number(row["apart_others"], ".4f"),
                plus_minus(row["difference"], row["difference_stderr"]),
            )
            for row in rows
        )
        yield Heading("Same start, other rounding", 3)
        yield Paragraph(STATEMENT)
        yield Table(COLUMNS, cells)
        yield Data("density_ratio_shared_starts", pd.DataFrame(rows))


def shared_rows(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """A row per pair of runs that differ in their estimator alone, at full precision."""
    for (first, one), (second, other) in combinations(sorted(evidence.runs.items()), 2):
        if {first.estimator, second.estimator} <= set(ESTIMATORS) and _alike(one, other):
            yield from _row(first, one, second, other)


def _alike(first: SprinklerRun, second: SprinklerRun) -> bool:
    """Whether two runs differ in nothing but their estimator."""
    names = [{k: v for k, v in run.names.items() if k != "estimator"} for run in (first, second)]
    return names[0] == names[1]


def _row(
    first: Cell, one: SprinklerRun, second: Cell, other: SprinklerRun
) -> Iterator[dict[str, Any]]:
    wide = [
        run.own_curves.pivot(index="repetition", columns="iteration", values="average_kl")
        for run in (one, other)
    ]
    shared = wide[0].index.intersection(wide[1].index)
    if len(shared) < 2:
        return
    a, b = (table.loc[shared] for table in wide)
    apart = (a - b).abs().mean()
    last = sample_of((a - b).iloc[:, -1].tolist())
    yield {
        "pair": f"{first.setting}, {first.name} - {second.estimator}",
        "repetitions": len(shared),
        "apart_first": apart.iloc[0],
        "apart_last": apart.iloc[-1],
        "apart_others": (_between(a.iloc[:, -1]) + _between(b.iloc[:, -1])) / 2,
        "difference": last.mean,
        "difference_stderr": last.stderr,
    }


def _between(ends: pd.Series) -> float:
    """The mean distance of two of some numbers."""
    pairs = list(combinations(ends, 2))
    return sum(abs(a - b) for a, b in pairs) / len(pairs)
