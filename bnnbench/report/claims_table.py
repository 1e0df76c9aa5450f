"""What a source says and what our runs say to it, as blocks of a page."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnnbench.report.section import Block, Column, Data, Table, words
from bnnbench.results.claims import Claim

COLUMNS = (*words("Claim", "Source", "Verdict"), Column("Evidence", "text"), Column("Rule", "text"))

THEIRS = Column("The same rule on the source's own numbers", "text")


def claims_table(found: Sequence[Claim]) -> Table:
    """The verdicts as a printed table; the source's own numbers only where it prints any."""
    with_theirs = any(c.theirs for c in found)
    rows = tuple(
        (c.text, c.source, c.verdict, c.evidence, c.rule, *((c.theirs,) if with_theirs else ()))
        for c in found
    )
    return Table((*COLUMNS, *((THEIRS,) if with_theirs else ())), rows)


def claims_data(found: Sequence[Claim]) -> pd.DataFrame:
    """The same as rows at full length."""
    table = pd.DataFrame(found)
    return table if any(c.theirs for c in found) else table.drop(columns="theirs")


def claims_blocks(found: Sequence[Claim], name: str) -> tuple[Block, ...]:
    """The verdicts as a printed table and as a file.

    Args:
        found: of `results.claims.checked`.
        name: of the file.
    """
    return claims_table(found), Data(name, claims_data(found))
