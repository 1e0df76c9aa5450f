"""Check that the numbers of a column can be standardised, squared and averaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bnnbench.types import UserError

MAX_ABSOLUTE_VALUE = 1e100
"""float64 can represent the square of such a number, and sums of much larger squared errors."""

MAX_RELATIVE_DISTANCE = 1e37
"""Largest distance from the median in units of the median distance. Networks get standardised
float32, and an outlier in a test part or fold does not contribute to the scale."""

MIN_SPREAD = 1e-12
"""A column that varies by less counts as constant, since rounding has this size."""


def is_constant(numbers: np.ndarray) -> bool:
    """Whether the non-missing numbers differ by no more than rounding."""
    present = numbers[~np.isnan(numbers)]
    return not present.size or bool(np.ptp(present) <= MIN_SPREAD * np.abs(present).max())


def check_numbers(path: Path, name: str, numbers: np.ndarray) -> None:
    """Raise `UserError` for numbers that cannot be standardised, squared and averaged.

    Args:
        path: the file, for the message.
        name: the column.
        numbers: `[N]`, NaN where there is no value.
    """
    column, present = f"dataset.path: column {name!r} of {path}", numbers[~np.isnan(numbers)]
    if not present.size:
        raise UserError(
            f"{column} is empty; exclude it with dataset.drop=[{name}].",
            setting="dataset.path",
            code="empty_column",
        )
    row = int(np.nanargmax(np.abs(numbers)))
    if abs(numbers[row]) > MAX_ABSOLUTE_VALUE:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, which is too large to be "
            f"squared (at most {MAX_ABSOLUTE_VALUE:g}); change the unit or take the logarithm.",
            setting="dataset.path",
            code="too_large",
        )
    distances = np.abs(numbers - np.median(present))
    row, typical = int(np.nanargmax(distances)), np.nanmedian(distances) or 1.0
    if distances[row] > MAX_RELATIVE_DISTANCE * typical:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, more than "
            f"{MAX_RELATIVE_DISTANCE:g} times as far from the median as a typical value; correct "
            "or remove that row, or take the logarithm of the column.",
            setting="dataset.path",
            code="outlier",
        )
    if not is_constant(numbers) and np.ptp(present) <= MIN_SPREAD:
        raise UserError(
            f"{column} varies by only {np.ptp(present):.3g}, which cannot be distinguished from "
            f"rounding (up to {MIN_SPREAD:g}); change the unit.",
            setting="dataset.path",
            code="too_little_spread",
        )
