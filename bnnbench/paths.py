"""Paths that users give: expanded and checked in one place."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

from bnnbench.types import UserError

MAX_NAME_BYTES = 255
"""Maximum length of a name in a path, on every common file system."""

IMPOSSIBLE = {
    errno.ELOOP: "contains a link that points to itself",
    errno.ENAMETOOLONG: "is too long for a path",
}
"""Errors of paths that no file can have, with a description."""


def expand(given: str | os.PathLike[str]) -> Path:
    """Return a path with the home of a user in the place of `~`; the path need not exist.

    Raises:
        ValueError: if no file can have this path; its text says why.
    """
    text = os.fspath(given)
    if "\0" in text:
        raise ValueError(f"{text!r} contains a null byte")
    if any(len(os.fsencode(name)) > MAX_NAME_BYTES for name in text.split("/")):
        raise ValueError(f"a name in {text[:40]!r}... is longer than {MAX_NAME_BYTES} bytes")
    expanded = os.path.expanduser(text)
    user = text.partition("/")[0]
    if text.startswith("~") and expanded == text and not os.path.lexists(user):
        raise ValueError(f"{user!r} names no user of this machine")
    try:
        os.stat(expanded)
    except OSError as error:
        if error.errno in IMPOSSIBLE:
            raise ValueError(f"{text[:40]!r} {IMPOSSIBLE[error.errno]}") from None
    return Path(expanded)


def user_path(key: str, given: Any) -> Path:
    """Return `expand(given)`.

    Args:
        key: the setting or option that gives it, for messages.
        given: a string or a path.

    Raises:
        UserError: if no file can have this path.
    """
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise UserError(f"{key} must be a path, not {given!r}.", key, "path")
    try:
        return expand(given)
    except ValueError as error:
        raise UserError(f"{key}: {error}.", key, "path") from None


def real_path(path: Path) -> Path:
    """Return the absolute path without links; unlike `Path.resolve`, never an error of a loop."""
    return Path(os.path.realpath(path))
