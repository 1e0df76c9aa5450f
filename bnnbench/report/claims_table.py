"""What a source says and what our runs say to it, as blocks of a page."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnnbench.report.section import Block, Column, Data, Table, words
from bnnbench.results.claims import Claim

COLUMNS = (*words("Claim", "Source", "Verdict"), Column("Evidence", "text"), Column("Rule", "text"))


def claims_blocks(found: Sequence[Claim], name: str) -> tuple[Block, ...]:
    """The verdicts as a printed table and as a file.

    Args:
        found: of `results.claims.checked`.
        name: of the file.
    """
    rows = tuple((c.text, c.source, c.verdict, c.evidence, c.rule) for c in found)
    return Table(COLUMNS, rows), Data(name, pd.DataFrame(found))
