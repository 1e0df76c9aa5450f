"""Repetitions that the thesis's author published beside the thesis, and what they come to.

`author_repetitions.csv` has the last value of each of 30 files of github.com/Lammyy/IHateMaths,
commit 3e1f2531, `Sprinkler/part 2/<1 to 30>/PCKLgudlog truklavg.csv`: undertrained, prior contrast,
reverse KL, T, by a program with 100 draws for each observation. They average 1.3844, not the 1.3641
that Table 9.1 has for this configuration; what the table was made of is not known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import pandas as pd

from bnnbench.report.section import Block, Paragraph
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed
from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample, sample_of, welch

PLACE = "github.com/Lammyy/IHateMaths, Sprinkler/part 2"


@cache
def author_repetitions() -> Mapping[Cell, Sample]:
    """What the published repetitions come to, by configuration."""
    rows = pd.read_csv(str(files(__package__) / "author_repetitions.csv"))
    groups = rows.groupby(["setting", "contrast", "divergence", "estimator"])["average_kl"]
    return {Cell(*map(str, key)): sample_of(own.tolist()) for key, own in groups}


def author_blocks(evidence: Evidence, name: str) -> Iterator[Block]:
    """A sentence on each configuration of a table whose repetitions are published.

    Args:
        evidence: ours.
        name: the thesis's number of the table.
    """
    ours, table = evidence.tables.get(name, {}), printed()[name]
    for cell, theirs in author_repetitions().items():
        if cell in table:
            text = (
                f"The author's own {theirs.size} repetitions of {cell.name} ({PLACE}) end at "
                f"{theirs.mean:.4f} ± {theirs.stderr:.4f}, std {theirs.std:.4f}; the table prints "
                f"{table[cell].mean:.4f} and {table[cell].std:.4f}."
            )
            if cell in ours and ours[cell].size > 1:
                found = welch(ours[cell], theirs)
                text += f" Ours less these: {found.value:+.4f}, p {found.p:.2g} (Welch)."
            yield Paragraph(text)
