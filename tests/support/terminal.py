"""A terminal of some width, and whether what is printed on it can be read."""

from __future__ import annotations

import pytest


def use_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Let the standard streams be a terminal without colours."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "dumb")
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True)


def assert_readable(shown: str, columns: int, whole: str) -> None:
    """Assert that lines fit, unless a word of them does not, and that no word is broken or cut.

    Args:
        shown: on a terminal.
        columns: its width.
        whole: the same output, on a wider terminal or in a pipe.
    """
    for line in map(str.rstrip, shown.splitlines()):
        longest = max(map(len, line.split()), default=0)
        assert len(line) <= columns or longest > columns - 8, line
    assert words(shown) <= words(whole), words(shown) - words(whole)


def words(text: str) -> set[str]:
    """Return what is between spaces, except for rules and marks."""
    return {word.rstrip(":") for word in text.split() if any(map(str.isalnum, word))}
