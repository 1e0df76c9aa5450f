"""Checks of single settings.

A wrong value raises a `UserError` with the key, the accepted values and the given value.
"""

from __future__ import annotations

import math
import os
import re
from numbers import Real
from typing import Any

from bnnbench.types import UserError

MAX_INTEGER = 10**12
"""Upper limit of all integer settings, which prevents overflows."""


def check_int(key: str, value: Any, minimum: int = 1) -> None:
    """Raise `UserError` unless `value` is an integer from `minimum` to `MAX_INTEGER`."""
    if isinstance(value, int) and value > MAX_INTEGER:
        raise UserError(f"{key} must be a whole number of at most {MAX_INTEGER:.0e}.", key)
    if isinstance(value, bool) or not isinstance(value, int) or value < minimum:
        raise UserError(f"{key} must be a whole number of at least {minimum}, not {value!r}.", key)


def check_between(
    key: str,
    value: Any,
    low: float,
    high: float = math.inf,
    low_included: bool = False,
    high_included: bool = False,
) -> None:
    """Raise `UserError` unless `low < value < high`, or it is a bound that is included."""
    accepted = ((low,) if low_included else ()) + ((high,) if high_included else ())
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not (low < value < high or value in accepted):
        edge = "of at least" if low_included else "greater than"
        limit = "at most" if high_included else "less than"
        top = "" if high == math.inf else f" and {limit} {high:g}"
        raise UserError(f"{key} must be a number {edge} {low:g}{top}, not {value!r}.", key)


def check_finite(key: str, value: Any) -> None:
    """Raise `UserError` unless `value` is a finite number."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not math.isfinite(value):
        raise UserError(f"{key} must be a finite number, not {value!r}.", key)


def check_choice(key: str, value: Any, options: tuple[str, ...]) -> None:
    """Raise `UserError` unless `value` is one of `options`."""
    if value not in options:
        raise UserError(f"{key} must be one of {', '.join(options)}, not {value!r}.", key)


def check_bool(key: str, value: Any) -> None:
    """Raise `UserError` unless `value` is true or false."""
    if not isinstance(value, bool):
        raise UserError(f"{key} must be true or false, not {value!r}.", key)


def check_name(key: str, value: Any) -> None:
    """Raise `UserError` unless `value` is a valid folder name on any system."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", value):
        raise UserError(
            f"{key} must be a name of at most 100 letters, digits, hyphens, underscores and dots "
            f"that does not start with a dot, not {value!r}.",
            key,
        )


def check_folder(key: str, value: Any) -> None:
    """Raise `UserError` unless `value` names a folder, which need not exist."""
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{key} must be the name of a folder, not {value!r}.", key)
    if "\0" in value or any(len(part.encode()) > 255 for part in value.split("/")):
        raise UserError(f"{key} must be the name of a folder; {value[:20]!r}... is too long.", key)
    if os.path.isfile(os.path.expanduser(value)):
        raise UserError(f"{key} must be the name of a folder, but {value} is a file.", key)
