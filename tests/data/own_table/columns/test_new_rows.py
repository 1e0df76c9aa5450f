"""Warnings about new rows: one about all columns of a kind."""

from __future__ import annotations

import pandas as pd
import pytest

from bnnbench.data.own_table.columns.encoding import CATEGORIES, Encoding, encode_rows

KNOWN = [Encoding(name, CATEGORIES, ("a", "b")) for name in ("from", "to", "by", "via", "why")]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([["x", "y", "a", "b", "a"]], [["from holds x (row 1)", "to holds y (row 1)"]]),
        ([["x"] * 5], [["from holds x", "to holds x", "by holds x", "and 2 more"]]),
        ([["a"] * 5, [None, None, "b", "b", "b"]], [["1 row of from", "1 row of to"]]),
        ([["x"] + ["a"] * 4, [None] + ["b"] * 4], [["from holds x (row 1)"], ["1 row of from"]]),
        ([["a"] * 5, ["b"] * 5], []),
    ],
)
def test_all_columns_share_a_warning(cells: list[list[str | None]], words: list[list[str]]) -> None:
    frame = pd.DataFrame(cells, columns=[one.column for one in KNOWN], dtype=object)
    _, _, warnings = encode_rows(frame, KNOWN, "new.csv")
    assert len(warnings) == len(words)
    for warning, parts in zip(warnings, words, strict=True):
        assert all(part in warning for part in parts)
