"""Tables of claims from publications and whether our runs support them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from bnnbench.report.blocks import Block, DataFile, TableBlock, columns, fill
from bnnbench.results.claims import Claim

COLUMNS = columns(
    {"Claim": "{text}", "Source": "{source}", "Verdict": "{verdict}"},
    {},
    {"Evidence": "{evidence}", "Rule": "{rule}"},
)

PUBLISHED_EVIDENCE = columns({}, {}, {"Same rule applied to the published numbers": "{theirs}"})


def claims_table(claims: Sequence[Claim]) -> TableBlock:
    """The verdicts as a printed table."""
    data = claims_data(claims)
    return fill((*COLUMNS, *(PUBLISHED_EVIDENCE if "theirs" in data else ())), data)


def claims_data(claims: Sequence[Claim]) -> pd.DataFrame:
    """The verdicts as a data frame."""
    table = pd.DataFrame(claims)
    return table if any(c.theirs for c in claims) else table.drop(columns="theirs")


def claims_blocks(claims: Sequence[Claim], name: str) -> tuple[Block, ...]:
    """The verdicts as a printed table and as a file with this name."""
    return claims_table(claims), DataFile(name, claims_data(claims))
