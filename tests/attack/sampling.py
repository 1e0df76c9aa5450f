"""Selection of attack cases.

By default a small sample runs. `BNNBENCH_ATTACK=10` runs ten times as many cases,
`BNNBENCH_ATTACK=full` all of them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

MODE = os.environ.get("BNNBENCH_ATTACK", "1")

FULL = MODE != "1"
"""Whether to run more than the default sample."""

FACTOR = 20 if MODE == "full" else int(MODE)

T = TypeVar("T")


def scaled(count: int) -> int:
    """Scale the default number of cases."""
    return count * FACTOR


def sample(cases: Sequence[T], count: int) -> list[T]:
    """All cases in full mode, else a multiple of `count`, evenly spaced and deterministic."""
    wanted = scaled(count)
    if MODE == "full" or len(cases) <= wanted:
        return list(cases)
    return [cases[i * len(cases) // wanted] for i in range(wanted)]
