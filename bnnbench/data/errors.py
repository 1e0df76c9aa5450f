"""Errors about settings of data sets."""

from __future__ import annotations

from bnnbench.types import UserError


def invalid(setting: str, code: str | None, problem: str) -> UserError:
    """Return the error that `dataset.SETTING` has a problem."""
    return UserError(f"dataset.{setting}: {problem}", f"dataset.{setting}", code)
