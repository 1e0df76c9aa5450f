"""Strings in quotes, and lists of them."""

from __future__ import annotations

from itertools import product

import pytest
from hydra.core.override_parser.types import Quote, QuotedString

from bnnbench.data.quoted_texts import is_quoted, quoted, split_texts, unquoted


@pytest.mark.parametrize("quote", Quote)
def test_quotes_are_those_of_hydra(quote: Quote) -> None:
    for length in range(5):
        for letters in product("a\\'\",", repeat=length):
            text = "".join(letters)
            of_hydra = QuotedString(text=text, quote=quote).with_quotes()
            assert is_quoted(of_hydra) and unquoted(of_hydra) == text
            assert quote is Quote.double or quoted(text) == of_hydra
            assert split_texts(f"b,{of_hydra} ,c") == ["b", text, "c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b c ,,d", ["a", "b c", "d"]),
        ("it's,5\",6'", ["it's", '5"', "6'"]),
        ("'a' or 'b',c", ["'a' or 'b'", "c"]),
        ("'a,b", ["'a", "b"]),
        ("''", [""]),
        ("", []),
    ],
)
def test_quotes_count_only_around_a_whole_text(text: str, expected: list[str]) -> None:
    assert split_texts(text) == expected
