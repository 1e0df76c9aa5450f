"""Suggestions for unknown names."""

from __future__ import annotations

import pytest

from bnnbench.config.suggestions import closest_match

NAMES = ["vadam", "pbp", "mc_dropout", "1"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [("vadm", "vadam"), ("PBP", "pbp"), ("dropout", "mc_dropout"), ("mine", None), ("10", None)],
)
def test_the_closest_name_is_suggested(word: str, expected: str | None) -> None:
    assert closest_match(word, NAMES) == expected
