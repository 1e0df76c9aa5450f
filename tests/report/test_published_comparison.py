"""What `bnnbench compare --published` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.published_methods import DROPOUT
from support.runs import make_run

from bnnbench.report.blocks import ItemList, Paragraph, TableBlock
from bnnbench.report.comparisons import UNKNOWN_STATEMENT, published_blocks
from bnnbench.results.published.values import published_splits
from bnnbench.results.read.run_tables import read_runs

MARKED = "Laplace, Arnold et al. 2024*"


@pytest.mark.parametrize(
    ("dataset", "metadata", "sources", "rivals", "has_unknown"),
    [
        ("boston", {"method": "laplace"}, ["Arnold et al. 2024"], {MARKED}, True),
        ("boston", {"method": "svgd"}, [], {MARKED}, True),
        (
            *("wine", {"method": "mc_dropout_gal2016", "family": "mc_dropout"}),
            *(["Gal & Ghahramani 2016"], {"MC-Dropout original, Gal & Ghahramani 2016"}, False),
        ),
    ],
)
def test_means_have_their_source_and_rivals_are_marked_if_their_settings_are_unknown(
    tmp_path: Path,
    dataset: str,
    metadata: dict[str, str],
    sources: list[str],
    rivals: set[str],
    has_unknown: bool,
) -> None:
    rows = published_splits()
    tested = rows[(rows["dataset"] == dataset) & (rows["method"] == DROPOUT)].head(4)
    make_run(tmp_path, dataset=dataset, fingerprint=tested["fingerprint"].to_numpy(), **metadata)
    found = list(published_blocks(read_runs(tmp_path), 0.01))
    lists = [text for block in found if isinstance(block, ItemList) for text in block.texts]
    assert [text.split(": ")[1] for text in lists] == sources
    tables = [block for block in found if isinstance(block, TableBlock)]
    assert all(len(table.rows) for table in tables)
    printed = {row[0] for table in tables if table.columns[0].title == "Published"
               for row in table.rows}  # fmt: skip
    assert rivals <= printed
    assert any(name.endswith("*") for name in printed) == has_unknown
    assert (Paragraph(UNKNOWN_STATEMENT) in found) == has_unknown
