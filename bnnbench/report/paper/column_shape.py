"""Printed cells of a paper's table, and the digits of its columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bnnbench.report.blocks import MISSING


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
