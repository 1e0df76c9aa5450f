"""How many digits of a score and its error are worth printing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bnnbench.report.numbers import MISSING
from bnnbench.report.paper.contents import Cell

SIGNIFICANT = 4
"""Digits of a mean of which no error is known."""


def decimals_of(error: float) -> int:
    """Decimals of an error, by the rule of the Particle Data Group.

    Two significant digits where the leading three are 100 to 354, one from 355 to 949, and beyond
    that it is rounded up to 1.0 and has two (Review of Particle Physics 2024, section 5.3 of its
    introduction). So that no error is rounded by more than a seventh.
    """
    exponent = math.floor(math.log10(error))
    leading = round(error / 10.0**exponent, 2)
    if leading >= 9.5:
        exponent, leading = exponent + 1, 1.0
    return max(0, (1 if leading < 3.55 else 0) - exponent)


def common_decimals(cells: Sequence[Cell]) -> int | None:
    """Decimals of cells that stand side by side: the middle of what each asks for, of two the less.

    Returns:
        None where no error is known.
    """
    wanted = sorted(decimals_of(cell.stderr) for cell in cells if cell.stderr > 0)
    return wanted[(len(wanted) - 1) // 2] if wanted else None


def printed(cell: Cell, common: int | None) -> tuple[str, str]:
    """The mean and its error, as they are printed.

    Args:
        cell: the score.
        common: decimals of the cells around it; more where an error would be rounded away, and
            fewer where no more were published.

    Returns:
        The error is empty where there is none; both are dashes of nothing.
    """
    if not math.isfinite(cell.mean):
        return MISSING, ""
    known = cell.stderr > 0
    if common is None and not known:
        own = SIGNIFICANT - 1 - math.floor(math.log10(abs(cell.mean))) if cell.mean else 0
        common = max(0, own)
    decimals = common or 0
    if cell.decimals is not None:
        decimals = min(decimals, cell.decimals)
    if known:
        decimals = max(decimals, least_decimals(cell.stderr))
    return f"{cell.mean:.{decimals}f}", f"{cell.stderr:.{decimals}f}" if known else ""


def least_decimals(error: float) -> int:
    """With which one digit of an error is left."""
    return max(0, -math.floor(math.log10(error)))
