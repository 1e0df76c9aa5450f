"""Whether the chains of a run have mixed, by what its method says of its test points."""

from __future__ import annotations

import pandas as pd

R_HAT = "diag.r_hat"
"""Column of `splits.csv`: what R-hat is at most at 95 % of the test points."""

MOST = 1.05
"""Of R-hat, for chains that agree."""


def told(splits: pd.DataFrame) -> bool:
    """Whether the method of these splits runs chains and compares them."""
    return R_HAT in splits and bool(splits[R_HAT].notna().any())


def unmixed(splits: pd.DataFrame) -> list[int]:
    """The splits with an R-hat over 1.05 at more than 5 % of the test points.

    A split without an R-hat is among them where others have one: too few draws to tell.

    Args:
        splits: rows of `splits.csv` of one run.
    """
    if not told(splits):
        return []
    return splits.loc[~(splits[R_HAT] <= MOST), "split"].tolist()
