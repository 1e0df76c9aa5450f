"""Unknown names in messages: shortened, with the nearest known names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from bnnbench.notes import shorten
from bnnbench.types import UserError

MIN_SIMILARITY = 0.7
"""Minimum similarity of a suggestion: `vadm` and `dropout` have one, `mine` has none."""

MIN_LENGTH = 3
"""Shorter words have no similar names: `10` is not a typo of `1`."""

MAX_LISTED = 10
"""Maximum number of names in a message."""

MAX_COMPARED = 10_000
"""Maximum number of names compared with a word, so that a message takes less than a second."""


def closest_match(word: str, names: Iterable[object]) -> str | None:
    """Return the name that a word most likely stands for, ignoring case, or None."""
    lower = {str(name).lower(): str(name) for name in names}
    if word.lower() in lower:
        return lower[word.lower()]
    found = _nearest(word, [*lower], 1, MIN_SIMILARITY) if len(word) >= MIN_LENGTH else []
    return lower[found[0]] if found else None


def list_names(names: Iterable[object], word: str = "") -> str:
    """Return names for a message: all in their order, or those nearest to a word if they are many.

    Args:
        names: the known ones.
        word: what the user wrote; if it is empty, the first names are listed.
    """
    texts = list(dict.fromkeys(map(str, names)))
    shown = texts[:MAX_LISTED]
    if word and len(texts) > MAX_LISTED:
        lower = {text.lower(): text for text in texts}
        shown = [lower[near] for near in _nearest(word, [*lower], MAX_LISTED, 0)]
    rest = f" and {len(texts) - len(shown)} more" if len(shown) < len(texts) else ""
    return (", ".join(map(shorten, shown)) or "none") + rest


def list_first(texts: Sequence[str]) -> str:
    """List up to three strings, and count the others."""
    return ", ".join([*texts[:3], *[f"and {len(texts) - 3} more"] * (len(texts) > 3)])


def with_known(word: object, names: Iterable[object]) -> str:
    """Return an unknown name in quotes, the name that was perhaps meant, and the known ones."""
    known = [*names]
    close = closest_match(str(word), known)
    hint = f"; did you mean {shorten(close)!r}?" if close else ""
    return f"{shorten(str(word))!r}{hint} (available: {list_names(known, str(word))})"


def check_known_names(option: str, names: Sequence[str], known: Mapping[str, object]) -> None:
    """Raise a `UserError` for an unknown name.

    `option` is the command-line option that the names were given to.
    """
    for name in names:
        if name not in known:
            raise UserError(
                f"{option}: unknown name {with_known(name, known)}.",
                setting=option.partition(":")[0],
                code="unknown_name",
            )


def _nearest(word: str, lower: list[str], count: int, cutoff: float) -> list[str]:
    """Return the nearest of some names in lower case, by their first characters."""
    short = {name[:100]: name for name in lower[:MAX_COMPARED]}
    found = difflib.get_close_matches(word[:100].lower(), short, n=count, cutoff=cutoff)
    return [short[name] for name in found]
