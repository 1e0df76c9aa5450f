"""How much slower training is without native code, as `tests/benchmarks/speed.py` measured it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

MEASURED = Path(__file__).with_name("slowdown.csv")
"""How many times as long one split of boston takes, by method; `docs/tools/update_pages.py` writes
it from the benchmark's table."""


def describe_slowdown(reason: str) -> str:
    """Say that there is no native code, and how much slower training is.

    Args:
        reason: why there is none.
    """
    factors = pd.read_csv(MEASURED, index_col="method")["factor"]
    return (
        f"the C++ code is not available ({reason}), so training runs in PyTorch, which takes "
        f"{factors['vadam']:.2g} times as long for method=vadam on boston, and {factors.min():.2g} "
        f"to {factors.max():.3g} times for other methods; install a C++ compiler such as g++"
    )
