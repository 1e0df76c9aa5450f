"""Checks of single values, each a sentence about its configuration key.

A wrong value raises `UserError` with the key, what was given and what would be right, so the
command line can print that sentence and nothing else.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from bnnbench.types import UserError


def check_int(key: str, value: Any, least: int = 1) -> None:
    """Raises `UserError` unless `value` is a whole number of at least `least`."""
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
