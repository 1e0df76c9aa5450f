"""Strings in settings, and lists of them; a string may be quoted, as in Hydra's grammar."""

from __future__ import annotations

import re

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""

PART = re.compile(rf"\s*(?:{QUOTED})\s*(?=,|\Z)|[^,]*", re.DOTALL)
"""An element of a list: a string in quotes, or all that precedes a comma."""


def quoted(text: str) -> str:
    r"""Return a string in quotes: `it's` becomes `'it\'s'`."""

    def escaped(end: re.Match[str]) -> str:  # only backslashes before a quote have a meaning
        return 2 * end[1] + (r"\'" if end[2] else "")

    return "'" + re.sub(r"(\\*)('|\Z)", escaped, text) + "'"


def is_quoted(text: str) -> bool:
    """Whether all of a string is in one pair of quotes."""
    return bool(re.fullmatch(QUOTED, text, re.DOTALL))


def unquoted(text: str) -> str:
    """Remove the quotes around a string; any other string is returned unchanged."""
    if not is_quoted(text):
        return text
    before_quote = rf"\\+(?={text[0]}|\Z)"
    return re.sub(before_quote, lambda found: found[0][: len(found[0]) // 2], text[1:-1])


def split_parts(text: str) -> list[str]:
    """Return the elements of a comma-separated list as they are written."""
    parts, start = [], 0
    while start <= len(text):
        found = PART.match(text, start)
        assert found
        parts.append(found[0])
        start = found.end() + 1
    return parts


def split_texts(text: str) -> list[str]:
    """Return the stripped strings of a comma-separated list, without empty elements."""
    return [unquoted(part) for part in map(str.strip, split_parts(text)) if part]
