"""Which form of the attack suite runs.

`BNNBENCH_ATTACK=full` is everything, `BNNBENCH_ATTACK=10` ten times what the usual tests try.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

FORM = os.environ.get("BNNBENCH_ATTACK", "1")

FULL = FORM != "1"
"""Whether more than the reduced form is asked for."""

TIMES = 20 if FORM == "full" else int(FORM)

T = TypeVar("T")


def multiple(count: int) -> int:
    """So many in the reduced form, and as many times more as are asked for."""
    return count * TIMES


def sample(cases: Sequence[T], count: int) -> list[T]:
    """All cases in the full form, else a multiple of `count`: evenly spread, always the same."""
    wanted = multiple(count)
    if FORM == "full" or len(cases) <= wanted:
        return list(cases)
    return [cases[i * len(cases) // wanted] for i in range(wanted)]
