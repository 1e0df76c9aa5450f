"""Errors for unknown options, with a suggestion where a name is close."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from bnnbench.discovery import FILE, project
from bnnbench.types import UserError

MIN_SIMILARITY = 0.7
"""Minimum similarity of a suggestion: `vadm` and `dropout` have one, `mine` has none."""

MIN_LENGTH = 3
"""Shorter words get no suggestion: `10` is not a typo of `1`."""

CLOSED_GROUPS = ("depth", "device")
"""Groups to which users add no options."""


def closest_match(word: str, names: Iterable[str]) -> str | None:
    """Return the name that a word most likely stands for, ignoring case, or None."""
    if len(word) < MIN_LENGTH:
        return None
    lower = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=MIN_SIMILARITY)
    return lower[found[0]] if found else None


def unknown_option(
    group: str, value: str, names: Sequence[str], has_config_dir: bool = False
) -> UserError:
    """Return the error for an option that does not exist.

    Args:
        group: the config group.
        value: the given option.
        names: the options of the group.
        has_config_dir: whether the command line names a folder of options.
    """
    close = closest_match(value.strip("[]{}'\" "), names)
    closed = has_config_dir or group in CLOSED_GROUPS or project() is not None
    hint = f"; did you mean {close!r}?" if close else ""
    own = f"; options of your own need a {FILE} in this folder"
    return UserError(
        f"unknown {group} {value!r}{hint} (available: {', '.join(names)})"
        f"{'' if close or closed else own}.",
        group,
        "unknown_option",
    )
