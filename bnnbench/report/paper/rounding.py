"""Decimals of the numbers in a column of a paper's table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median_high

from bnnbench.notes import decimals_of
from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.score_cells import ScoreCell

ERROR_DIGITS = 2
"""Significant digits of the median standard error of a column."""

MEAN_DIGITS = 4
"""Significant digits of the median mean of a column without standard errors."""


def column_decimals(cells: Sequence[ScoreCell]) -> int:
    """Return the number of decimals of all numbers in a column.

    The median standard error (the upper one of two) has two significant digits. There are more
    decimals only if the smallest standard error would otherwise be rounded to zero. Without
    standard errors, the median mean has four significant digits.
    """
    errors = [cell.stderr for cell in cells if cell.stderr > 0]
    if errors:
        shown = decimals_of(median_high(errors), ERROR_DIGITS)
        return max(shown, decimals_of(min(errors), 1))
    means = [abs(cell.mean) for cell in cells if math.isfinite(cell.mean) and cell.mean]
    return decimals_of(median_high(means), MEAN_DIGITS) if means else 0


def format_cell(cell: ScoreCell, decimals: int) -> tuple[str, str]:
    """Format the mean and the standard error of a cell.

    Args:
        cell: the score.
        decimals: of the column. A published mean keeps its own number of decimals if it has fewer.

    Returns:
        The mean, or a dash if it is missing, and the error, or an empty string.
    """
    if not math.isfinite(cell.mean):
        return MISSING, ""
    own = decimals if cell.decimals is None else min(decimals, cell.decimals)
    return f"{cell.mean:.{own}f}", f"{cell.stderr:.{decimals}f}" if cell.stderr > 0 else ""
