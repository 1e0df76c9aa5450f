"""Errors about image files."""

from __future__ import annotations

from pathlib import Path

from bnnbench.types import UserError


def damaged_file(name: str, path: Path, problem: str) -> UserError:
    """Return the error that a file of the set `name` has a problem."""
    return UserError(
        f"images={name}: {path} {problem}; replace it, or delete it to use another copy.",
        "images",
        "corrupt_file",
    )
