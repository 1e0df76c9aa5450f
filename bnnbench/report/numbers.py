"""How numbers are printed, in every medium."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

MISSING = "–"  # noqa: RUF001 (an en dash is what print uses for "nothing here")


def number(value: float, form: str) -> str:
    """`value` in `form`, or the dash of a missing number."""
    return format(value, form) if math.isfinite(value) else MISSING


def z_value(z: float) -> str:
    """A difference in standard errors with its sign; one that rounds to nothing is `+0.0`."""
    return number(z, "+z.1f")


def plus_minus(mean: float, error: float = math.nan) -> str:
    """`mean ± error`: the error to two significant digits, the mean to the same decimals."""
    if not math.isfinite(mean):
        return MISSING
    # Equal numbers leave an error of a few last bits.
    if not (math.isfinite(error) and error > 1e-12 * abs(mean)):
        return f"{mean:.4g}"
    decimals = _decimals(error)
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def spread(std: float) -> str:
    """A standard deviation to two significant digits, as errors are: `0.10`, `3.0`, `12345`."""
    if not math.isfinite(std):
        return MISSING
    return f"{std:.{_decimals(std)}f}" if std > 0 else "0"


def _decimals(error: float) -> int:
    """Of two significant digits; rounding comes first: 0.0996 is 0.10 and needs two, not three."""
    return max(0, 1 - math.floor(math.log10(float(f"{error:.1e}"))))


def unit_of(target: str) -> str:
    """The bracketed unit that ends a target's name, with a space before it, or nothing."""
    found = re.search(r"\[[^\]]*\]\s*$", target)
    return f" {found.group().strip()}" if found else ""


def statement(counts: Iterable[int]) -> str:
    """What the numbers of a table are, for its caption, given each run's number of splits."""
    numbers = sorted(set(counts))
    splits = f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
    entry = f"mean ± standard error over {splits} splits" if splits != "1" else "value on one split"
    return (
        f"{entry}; original units; log-likelihood = mean over test points of the log of the Monte "
        "Carlo average density"
    )
