"""Convergence of a run's Markov chains, judged by R-hat of its predictions."""

from __future__ import annotations

import pandas as pd

R_HAT = "diag.r_hat"
"""Column of `splits.csv`: the 95th percentile of R-hat over the test points."""

MAX_R_HAT = 1.05
"""Chains with a larger R-hat have not converged."""


def unmixed_splits(splits: pd.DataFrame) -> list[int]:
    """Return the splits in which R-hat exceeds `MAX_R_HAT` at more than 5 % of the test points.

    If some splits have an R-hat, those without one count as unmixed: they have too few draws.
    """
    if R_HAT not in splits or splits[R_HAT].isna().all():
        return []
    return splits.loc[~(splits[R_HAT] <= MAX_R_HAT), "split"].tolist()
