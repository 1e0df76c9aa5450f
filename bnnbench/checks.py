"""Checks of single values, each a sentence about its configuration key.

A wrong value raises `UserError` with the key, what was given and what would be right, so the
command line can print that sentence and nothing else.
"""

from __future__ import annotations

import math
import os
import re
from numbers import Real
from typing import Any

from bnnbench.types import UserError

MOST = 10**12
"""Of any whole number: more than anything here can count to, and less than overflows."""


def check_int(key: str, value: Any, least: int = 1) -> None:
    """Raises `UserError` unless `value` is a whole number of at least `least`, up to `MOST`."""
    if isinstance(value, int) and value > MOST:
        raise UserError(f"{key} must be a whole number of at most {MOST:.0e}.")
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{key} must be a whole number of at least {least}, not {value!r}.")


def check_between(
    key: str, value: Any, low: float, high: float = math.inf, low_included: bool = False
) -> None:
    """Raises `UserError` unless `low < value < high` (`low <= value` if `low_included`)."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not (low < value < high or (low_included and value == low)):
        edge = "of at least" if low_included else "greater than"
        top = "" if high == math.inf else f" and less than {high:g}"
        raise UserError(f"{key} must be a number {edge} {low:g}{top}, not {value!r}.")


def check_finite(key: str, value: Any) -> None:
    """Raises `UserError` unless `value` is a finite number."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value):
        raise UserError(f"{key} must be a finite number, not {value!r}.")


def check_choice(key: str, value: Any, options: tuple[str, ...]) -> None:
    """Raises `UserError` unless `value` is one of `options`."""
    if value not in options:
        raise UserError(f"{key} must be one of {', '.join(options)}, not {value!r}.")


def check_bool(key: str, value: Any) -> None:
    """Raises `UserError` unless `value` is true or false."""
    if not isinstance(value, bool):
        raise UserError(f"{key} must be true or false, not {value!r}.")


def check_name(key: str, value: Any) -> None:
    """Raises `UserError` unless `value` is fit for a folder's name on any system."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", value):
        raise UserError(
            f"{key} must be a name of at most 100 letters, digits, hyphens, underscores and dots, "
            f"without a dot in front, not {value!r}."
        )


def check_folder(key: str, value: Any) -> None:
    """Raises `UserError` unless `value` names a folder, which need not be there yet."""
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{key} must be the name of a folder, not {value!r}.")
    if "\0" in value or any(len(part.encode()) > 255 for part in value.split("/")):
        raise UserError(f"{key} must be the name of a folder; {value[:20]!r}... is too long.")
    if os.path.isfile(os.path.expanduser(value)):
        raise UserError(f"{key} must be the name of a folder, and {value} is a file.")
