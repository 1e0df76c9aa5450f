"""Scores of stored predictions, kept in the user's cache so that they are computed only once.

An entry belongs to the content of the files that its scores are computed from, and to this version
of the code. The folders of runs and reports contain no entries, because others may have written
them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bnnbench.files import READ_ERRORS, cache_folders, is_private, read_text, sha256, write_text

LIBRARIES = ("numpy", "scipy", "pandas", "scoringrules")
"""Libraries whose versions can change scores."""


def cached_scores(files: Collection[Path], compute: Callable[[], Any]) -> Any:
    """Return the scores that are computed from some files; a new result is kept.

    Args:
        files: all that the scores depend on; a file may be missing.
        compute: returns the scores as a JSON value. It may raise an error.
    """
    key = _key(files)
    folder = next(cache_folders("scores"), None) if key else None
    if folder is None:
        return compute()
    entry = folder / f"{key}.json"
    text = _read_entry(entry, key)
    if text is not None:
        return json.loads(text)
    scores = compute()
    if _key(files) == key:  # no file has changed meanwhile
        text = json.dumps(scores)
        with suppress(OSError):
            write_text(entry, f"{_seal(key, text)}\n{text}")
    return scores


def _key(files: Collection[Path]) -> str:
    """Return a digest of the names and contents of existing files; empty if one is unreadable."""
    try:
        contents = sorted((path.name, sha256(path)) for path in files if path.exists())
    except OSError:
        return ""
    return _digest(json.dumps(contents))


def _read_entry(entry: Path, key: str) -> str | None:
    """Return the scores in an entry as JSON; None unless it is intact and the user's own."""
    try:
        seal, _, text = read_text(entry).partition("\n")
        return text if is_private(entry) and seal == _seal(key, text) else None
    except (OSError, *READ_ERRORS):
        return None


def _seal(key: str, text: str) -> str:
    return _digest("\n".join((key, _code_version(), text)))


@cache
def _code_version() -> str:
    """Return a digest of the Python files of bnnbench and of the versions of `LIBRARIES`."""
    package = Path(__file__).parents[2]
    sources = [sha256(path) for path in sorted(package.rglob("*.py"))]
    return _digest(json.dumps([*sources, *map(version, LIBRARIES)]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
