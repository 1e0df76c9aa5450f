"""Formatting of numbers, shared by all renderers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

MISSING = "–"  # noqa: RUF001 (an en dash marks a missing value in print)


def format_number(value: float, form: str) -> str:
    """`value` formatted by `form`, or a dash if it is not finite."""
    return format(value, form) if math.isfinite(value) else MISSING


def format_z(z: float) -> str:
    """A signed difference in standard errors. Negative zero is printed as `+0.0`."""
    return format_number(z, "+z.1f")


def plus_minus(mean: float, error: float = math.nan) -> str:
    """`mean ± error`: the error to two significant digits, the mean to the same decimals."""
    if not math.isfinite(mean):
        return MISSING
    # Equal scores can leave an error of a few units in the last place.
    if not (math.isfinite(error) and error > 1e-12 * abs(mean)):
        return f"{mean:.4g}"
    decimals = _decimals(error)
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def format_std(std: float) -> str:
    """A standard deviation to two significant digits: `0.10`, `3.0`, `12345`."""
    if not math.isfinite(std):
        return MISSING
    return f"{std:.{_decimals(std)}f}" if std > 0 else "0"


def _decimals(error: float) -> int:
    """Decimals for two significant digits, after rounding: 0.0996 is 0.10 and needs two."""
    return max(0, 1 - math.floor(math.log10(float(f"{error:.1e}"))))


def unit_suffix(target: str) -> str:
    """The bracketed unit at the end of a target's name, after a space, or an empty string."""
    unit = re.search(r"\[[^\]]*\]\s*$", target)
    return f" {unit.group().strip()}" if unit else ""


def describe_scores(counts: Iterable[int]) -> str:
    """Describe the scores of a table for its caption, given each run's number of splits."""
    numbers = sorted(set(counts))
    splits = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    entry = f"mean ± standard error over {splits} splits" if splits != "1" else "value on one split"
    return (
        f"{entry}; original units; log-likelihood = mean over test points of the log of the Monte "
        "Carlo average density"
    )
