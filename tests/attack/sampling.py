"""Selection of attack cases.

By default a small sample runs. `BNNBENCH_ATTACK=10` runs ten times as many cases,
`BNNBENCH_ATTACK=full` all of them, or 40 times as many if they are random.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

MODE = os.environ.get("BNNBENCH_ATTACK", "1")

FULL = MODE != "1"
"""Whether to run more than the default sample."""

FACTOR = 40 if MODE == "full" else int(MODE)

T = TypeVar("T")


def scaled(count: int) -> int:
    """Scale the default number of cases."""
    return count * FACTOR


def sample(cases: Sequence[T], count: int) -> list[T]:
    """All cases in full mode, else a multiple of `count`, evenly spaced and deterministic."""
    wanted = scaled(count)
    if MODE == "full" or len(cases) <= wanted:
        return list(cases)
    return [cases[(2 * i + 1) * len(cases) // (2 * wanted)] for i in range(wanted)]


def examples(name: str, one: Callable[[st.DrawFn, int], str], count: int) -> list[str]:
    """Call a function with random decisions; return the failures that it describes.

    Args:
        name: determines the random numbers.
        one: receives a function that draws from strategies, and a number; returns a failure or "".
        count: the default number of calls.
    """
    failures: list[str] = []
    numbers = itertools.count()

    @seed(zlib.crc32(name.encode()))
    @settings(
        max_examples=scaled(count),
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        failure = one(data.draw, next(numbers))
        if failure:
            failures.append(failure)

    run()
    return failures
