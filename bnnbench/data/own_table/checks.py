"""What numbers can be learned from: sizes that can be squared, and columns that vary."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bnnbench.types import UserError

LARGEST = 1e100
"""Of a number: float64 holds its square, those of errors many times as large, and their sums."""

FARTHEST = 1e37
"""From the middle of a column, in its typical deviations: networks see standardised float32, and
the number may be in a test part or a fold, where the others alone set the scale."""

SMALLEST = 1e-12
"""Spread of a column: what varies less is taken for constant, as rounding is."""


def constant(numbers: np.ndarray) -> bool:
    """Whether all that are there differ by no more than rounding."""
    there = numbers[~np.isnan(numbers)]
    return not there.size or bool(np.ptp(there) <= SMALLEST * np.abs(there).max())


def check_size(path: Path, name: str, numbers: np.ndarray) -> None:
    """Refuses numbers that cannot be standardised, squared and averaged.

    Args:
        path: of the file, for the message.
        name: of the column.
        numbers: `[N]`, NaN where there is none.

    Raises:
        UserError: naming the column.
    """
    column, there = f"dataset.path: column {name!r} of {path}", numbers[~np.isnan(numbers)]
    if not there.size:
        raise UserError(f"{column} is empty; dataset.drop=[{name}] leaves it out.")
    row = int(np.nanargmax(np.abs(numbers)))
    if abs(numbers[row]) > LARGEST:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, whose square is too large for "
            f"a computer's numbers (at most {LARGEST:g}); give it in another unit, or its "
            "logarithm."
        )
    distances = np.abs(numbers - np.median(there))
    row, typical = int(np.nanargmax(distances)), np.nanmedian(distances) or 1.0
    if distances[row] > FARTHEST * typical:
        raise UserError(
            f"{column} holds {numbers[row]:g} in data row {row + 1}, more than {FARTHEST:g} times "
            "as far from the others as they are from each other; correct or drop that row, or "
            "give the column's logarithm."
        )
    if not constant(numbers) and np.ptp(there) <= SMALLEST:
        raise UserError(
            f"{column} varies by {np.ptp(there):.3g} only, which would be taken for rounding "
            f"(up to {SMALLEST:g}); give it in another unit."
        )
