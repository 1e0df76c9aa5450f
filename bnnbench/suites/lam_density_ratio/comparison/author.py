"""Repetitions that the author of the thesis published separately.

`author_repetitions.csv` has the last value of each of 30 files in github.com/Lammyy/IHateMaths,
commit 3e1f2531, `Sprinkler/part 2/<1 to 30>/PCKLgudlog truklavg.csv`: undertrained, prior contrast,
reverse KL, T, from a program with 100 draws per observation. Their mean is 1.3844, whereas
Table 9.1 prints 1.3641 for this configuration; the source of the table is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import pandas as pd

from bnnbench.report.blocks import Block, Paragraph
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed_tables
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, summarise, welch

SOURCE = "github.com/Lammyy/IHateMaths, Sprinkler/part 2"


@cache
def author_repetitions() -> Mapping[Cell, Sample]:
    """Return mean and spread of the author's repetitions by configuration."""
    rows = pd.read_csv(str(files(__package__) / "author_repetitions.csv"))
    groups = rows.groupby(["setting", "contrast", "divergence", "estimator"])["average_kl"]
    return {Cell(*map(str, key)): summarise(values.tolist()) for key, values in groups}


def author_blocks(evidence: Evidence, name: str) -> Iterator[Block]:
    """Yield a sentence on each configuration of a table with published repetitions.

    Args:
        evidence: our runs.
        name: number of the table in the thesis.
    """
    ours, table = evidence.tables.get(name, {}), printed_tables()[name]
    for cell, theirs in author_repetitions().items():
        if cell in table:
            text = (
                f"The author's own {theirs.size} repetitions of {cell.name} ({SOURCE}) end at "
                f"{theirs.mean:.4f} ± {theirs.stderr:.4f}, std {theirs.std:.4f}; the table prints "
                f"{table[cell].mean:.4f} and {table[cell].std:.4f}."
            )
            if cell in ours and ours[cell].size > 1:
                test = welch(ours[cell], theirs)
                text += f" Ours minus these: {test.difference:+.4f}, p {test.p:.2g} (Welch)."
            yield Paragraph(text)
