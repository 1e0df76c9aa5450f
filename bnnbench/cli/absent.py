"""What is said of a choice that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from bnnbench.project import FILE, project

ALIKE = 0.7
"""How like a name must be to be suggested: `vadm` and `dropout` have one, `mine` has none."""

SHORTEST = 3
"""Letters that a word needs to be held against names: `10` is no slip of `1`."""

NUMBERED = ("depth", "device")
"""Groups to which nobody brings options of their own."""


def close_to(word: str, names: Iterable[str]) -> str | None:
    """The name that a word was most likely meant to be, if there is one.

    Args:
        word: as it was typed, in capitals or not.
        names: what it could have been.
    """
    if len(word) < SHORTEST:
        return None
    small = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), small, n=1, cutoff=ALIKE)
    return small[found[0]] if found else None


def no_option(group: str, value: str, names: Sequence[str], brought: bool = False) -> str:
    """The sentence on an option of a group that is not there.

    Args:
        group: of settings.
        value: what was given for it.
        names: its options.
        brought: whether the command line names a folder of options itself.
    """
    close = close_to(value.strip("[]{}'\" "), names)
    if close:
        return f"{group}={value} does not exist; did you mean {close}?"
    listed = f"{group}={value} does not exist; {group} is one of {', '.join(names)}"
    if brought or group in NUMBERED or project() is not None:
        return f"{listed}."
    return (
        f"{listed}; one of your own is found in and below a folder with a {FILE}, and here is none."
    )
