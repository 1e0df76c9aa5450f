"""Printed cells of a paper's table, and the digits of its columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_high

from bnnbench.notes import decimals_of
from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.score_cells import ScoreCell

ERROR_DIGITS = 2
"""Significant digits of the median standard error of a column."""

MEAN_DIGITS = 4
"""Significant digits of the median mean of a column without standard errors."""


@dataclass(frozen=True)
class PrintedCell:
    """A formatted cell."""

    mean: str
    error: str = ""
    best: bool = False
    mark: str = ""

    @property
    def error_digits(self) -> int:
        """The number of significant digits of the standard error."""
        return len(self.error.replace(".", "").lstrip("0"))


def split_number(text: str) -> tuple[str, str]:
    """Split a number at its decimal point, which belongs to the second part."""
    whole, point, decimals = text.partition(".")
    return whole, point + decimals


@dataclass(frozen=True)
class ColumnShape:
    """A number as long as the longest parts of all cells in a column.

    Attributes:
        sign: `-` if a mean is negative.
        whole: zeros for the digits before the decimal point of a mean.
        fraction: the decimal point and zeros for the decimals of a mean.
        error_whole: as `whole`, for a standard error.
        error_fraction: as `fraction`, for a standard error.
        marked: whether a cell has a mark.
    """

    sign: str = ""
    whole: str = ""
    fraction: str = ""
    error_whole: str = ""
    error_fraction: str = ""
    marked: bool = False

    @classmethod
    def of(cls, cells: Iterable[PrintedCell]) -> ColumnShape:
        """Return the shape of a column."""
        cells = [cell for cell in cells if cell.mean != MISSING]
        means = [split_number(cell.mean) for cell in cells]
        errors = [split_number(cell.error) for cell in cells]
        return cls(
            sign="-" if any(whole.startswith("-") for whole, _ in means) else "",
            whole=longest(whole.removeprefix("-") for whole, _ in means),
            fraction=longest(fraction for _, fraction in means),
            error_whole=longest(whole for whole, _ in errors),
            error_fraction=longest(fraction for _, fraction in errors),
            marked=any(cell.mark for cell in cells),
        )

    @property
    def text(self) -> str:
        """The number, such as `-00.00±0.00`."""
        error = f"±{self.error_whole}{self.error_fraction}" if self.error_whole else ""
        return f"{self.sign}{self.whole}{self.fraction}{error}"


def longest(digits: Iterable[str]) -> str:
    """Return the longest text, with zeros as digits."""
    found = max(digits, key=len, default="")
    return "".join("0" if sign.isdigit() else sign for sign in found)


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
