"""Check that numbers can be standardised, squared and averaged, whatever their unit."""

from __future__ import annotations

import numpy as np

from bnnbench.preprocessing import deviation
from bnnbench.types import UserError

MAX_ABSOLUTE_VALUE = 1e100
"""float64 can represent the square of such a number, and sums of much larger squared errors."""

MIN_DEVIATION = 1e-100
"""float64 can represent the square of such a number, and of much smaller errors."""

MAX_RELATIVE_DISTANCE = 1e37
"""Largest distance from the median in units of a typical distance. Networks get standardised
float32, and an outlier in a test part or fold does not contribute to the scale."""

MAX_ROUNDING_STEPS = 16
"""Steps of float64 between the smallest and the largest of constant numbers. Of more, which
scikit-learn's `StandardScaler` may also take for rounding, the user decides."""


def is_constant(numbers: np.ndarray) -> bool:
    """Whether the non-missing numbers `[N]` differ by no more than rounding."""
    return not deviation(numbers)


def check_positive(column: str, numbers: np.ndarray, rows: np.ndarray, setting: str) -> None:
    """Raise `UserError` for targets `[N]` that have no logarithm.

    Args:
        column: where they are from, for the message.
        numbers: `[N]`.
        rows: the number of each in its table, from 1, `[N]`.
        setting: that asks for the logarithm.
    """
    wrong = np.flatnonzero(~(numbers > 0))
    if wrong.size:
        raise UserError(
            f"{setting} needs positive targets, but {column} holds {numbers[wrong[0]]:g} in data "
            f"row {rows[wrong[0]]}; correct or remove that row, or leave out {setting}.",
            setting,
            "not_positive",
        )


def check_numbers(column: str, numbers: np.ndarray, setting: str) -> None:
    """Raise `UserError` for numbers that cannot be standardised, squared and averaged.

    Args:
        column: where they are from, for the message.
        numbers: `[N]`, NaN where there is no value.
        setting: of the error.
    """
    present = numbers[~np.isnan(numbers)]
    if not present.size:
        raise UserError(f"{column} is empty; exclude it.", setting, "empty_column")
    row = int(np.nanargmax(np.abs(numbers)))
    if abs(numbers[row]) > MAX_ABSOLUTE_VALUE:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, which is too large to be "
            f"squared (at most {MAX_ABSOLUTE_VALUE:g}); change the unit or take the logarithm.",
            setting,
            "too_large",
        )
    spread, step = np.ptp(present), np.spacing(np.abs(present).max())
    if is_constant(numbers) and spread > MAX_ROUNDING_STEPS * step:
        raise UserError(
            f"{column} varies by {spread:.3g} around {np.median(present):g}, which is close to "
            "rounding; subtract a constant from the column, or exclude it.",
            setting,
            "too_little_spread",
        )
    if 0 < deviation(numbers) < MIN_DEVIATION:
        raise UserError(
            f"{column} has the standard deviation {deviation(numbers):.3g}, which is too small to "
            f"be squared (at least {MIN_DEVIATION:g}); change the unit.",
            setting,
            "too_little_spread",
        )
    distances = np.abs(numbers - np.median(present))
    others = distances[distances > 0]
    if not others.size:
        return
    row, typical = int(np.nanargmax(distances)), np.quantile(others, 0.5, method="lower")
    if distances[row] > MAX_RELATIVE_DISTANCE * typical:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, more than "
            f"{MAX_RELATIVE_DISTANCE:g} times as far from the median as a typical value; correct "
            "or remove that row, or take the logarithm of the column.",
            setting,
            "outlier",
        )
