"""Rounding of scores and their standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bnnbench.report.formatting import MISSING
from bnnbench.report.paper.paper_table import Cell

SIGNIFICANT_DIGITS = 4
"""Of a mean without a standard error."""


def decimals_of(error: float) -> int:
    """Decimals of an error, by the rule of the Particle Data Group.

    Two significant digits if the three highest are 100 to 354, one if they are 355 to 949; above
    that the error is rounded up to 1.0 with two (Review of Particle Physics 2024, section 5.3 of
    its introduction). Rounding thus changes an error by at most a seventh.
    """
    exponent = math.floor(math.log10(error))
    leading = round(error / 10.0**exponent, 2)
    if leading >= 9.5:
        exponent, leading = exponent + 1, 1.0
    return max(0, (1 if leading < 3.55 else 0) - exponent)


def common_decimals(cells: Sequence[Cell]) -> int | None:
    """The (lower) median of the decimals of some cells, or None if none has an error."""
    decimals = sorted(decimals_of(cell.stderr) for cell in cells if cell.stderr > 0)
    return decimals[(len(decimals) - 1) // 2] if decimals else None


def format_cell(cell: Cell, common: int | None) -> tuple[str, str]:
    """Format the mean and the standard error of a cell.

    Args:
        cell: the score.
        common: decimals of the cells to compare with. The cell gets more if its error would be
            rounded to zero, and fewer if fewer were published.

    Returns:
        The mean, or a dash if it is missing, and the error, or an empty string.
    """
    if not math.isfinite(cell.mean):
        return MISSING, ""
    known = cell.stderr > 0
    if common is None and not known:
        own = SIGNIFICANT_DIGITS - 1 - math.floor(math.log10(abs(cell.mean))) if cell.mean else 0
        common = max(0, own)
    decimals = common or 0
    if cell.decimals is not None:
        decimals = min(decimals, cell.decimals)
    if known:
        decimals = max(decimals, min_decimals(cell.stderr))
    return f"{cell.mean:.{decimals}f}", f"{cell.stderr:.{decimals}f}" if known else ""


def min_decimals(error: float) -> int:
    """Decimals that keep one significant digit of an error."""
    return max(0, -math.floor(math.log10(error)))
