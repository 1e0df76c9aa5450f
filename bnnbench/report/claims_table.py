"""Tables of claims from publications and whether our runs support them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bnnbench.report.blocks import Block, DataFile, Paragraph, columns, fill
from bnnbench.results.claims.claims import NOT_JUDGED, Claim, why_not_judged

COLUMNS = columns(
    {"Claim": "{text}", "Source": "{source}", "Verdict": "{verdict}"},
    {},
    {"Evidence": "{evidence}", "Rule": "{rule}"},
)

PUBLISHED_EVIDENCE = columns({}, {}, {"Same rule applied to the published numbers": "{theirs}"})


def claims_data(claims: Sequence[Claim]) -> pd.DataFrame:
    """The claims as a data frame, also those that are not judged."""
    table = pd.DataFrame(claims)
    return table if any(c.theirs for c in claims) else table.drop(columns="theirs")


def claims_blocks(claims: Sequence[Claim], name: str) -> Iterator[Block]:
    """The verdicts as a printed table, what is not judged, and a file with this name."""
    data = claims_data(claims)
    judged = data[data["verdict"] != NOT_JUDGED]
    if len(judged):
        yield fill((*COLUMNS, *(PUBLISHED_EVIDENCE if "theirs" in data else ())), judged)
    yield from map(Paragraph, why_not_judged(claims))
    yield DataFile(name, data)


def claims_notes(claims: Sequence[Claim]) -> list[str]:
    """One line with each verdict and its evidence, then what is not judged."""
    judged = (c for c in claims if c.verdict != NOT_JUDGED)
    lines = [f"{c.verdict}: {c.text} ({c.source}): {c.evidence}" for c in judged]
    return [*lines, *why_not_judged(claims)]
