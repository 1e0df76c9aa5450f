"""How much slower training is without native code, as `tests/benchmarks/speed.py` measured it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from bnnbench.identity import is_of_package
from bnnbench.methods.shared.contract import Method

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


def describe_lost_native(method: Method) -> str:
    """Say which of the user's classes prevents native code, and how much slower the method is.

    Args:
        method: any method.

    Returns:
        A sentence without a full stop; empty if the user's classes end nothing.
    """
    lost = method.lost_native
    if lost is None:
        return ""
    sentence = f"{lost}, so fits run in PyTorch instead of native code"
    parents = (cls for cls in type(method).__mro__ if issubclass(cls, Method))
    family = next(cls.family for cls in parents if is_of_package(cls))
    factors = pd.read_csv(MEASURED, index_col="method")["factor"]
    for name, factor in factors.items():
        if name == family or str(name).startswith(f"{family}_x"):
            return f"{sentence}, which takes {factor:.2g} times as long for method={name} on boston"
    return f"{sentence}, which takes longer (how much was not measured for {family})"
