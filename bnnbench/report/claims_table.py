"""Tables of claims from publications and whether our runs support them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnnbench.report.blocks import Block, Column, DataFile, Table, label_columns
from bnnbench.results.claims import Claim

COLUMNS = (
    *label_columns("Claim", "Source", "Verdict"),
    Column("Evidence", "text"),
    Column("Rule", "text"),
)

PUBLISHED_EVIDENCE = Column("Same rule applied to the published numbers", "text")


def claims_table(claims: Sequence[Claim]) -> Table:
    """The verdicts as a printed table."""
    published = any(c.theirs for c in claims)
    rows = tuple(
        (c.text, c.source, c.verdict, c.evidence, c.rule, *((c.theirs,) if published else ()))
        for c in claims
    )
    return Table((*COLUMNS, *((PUBLISHED_EVIDENCE,) if published else ())), rows)


def claims_data(claims: Sequence[Claim]) -> pd.DataFrame:
    """The verdicts as a data frame."""
    table = pd.DataFrame(claims)
    return table if any(c.theirs for c in claims) else table.drop(columns="theirs")


def claims_blocks(claims: Sequence[Claim], name: str) -> tuple[Block, ...]:
    """The verdicts as a printed table and as a file with this name."""
    return claims_table(claims), DataFile(name, claims_data(claims))
