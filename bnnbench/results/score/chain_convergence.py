"""Limits for converged Markov chains, and the splits that miss them."""

from __future__ import annotations

import pandas as pd

R_HAT, ESS = "diag.r_hat", ["diag.bulk_ess", "diag.tail_ess"]
"""Columns of `splits.csv`: the 99th percentile of R-hat over the test points, and the 1st
percentiles of the effective sample sizes."""

DIVERGENCE_RATE = "diag.divergence_rate"
"""Column of `splits.csv`: divergent transitions of the chains, as a fraction of all kept ones."""

STEP_SIZE = "diag.step_size"
"""Column of `splits.csv` that every method with several chains has."""

MAX_R_HAT, MIN_ESS, MAX_DIVERGENCE_RATE = 1.01, 400, 0.001
"""Limits for converged chains; the first two are those of Vehtari et al. (2021)."""

CONVERGENCE = (
    f"R-hat of at most {MAX_R_HAT} and bulk and tail ESS of at least {MIN_ESS} at 99 % of the test "
    f"points, and at most {MAX_DIVERGENCE_RATE:.1%} divergent transitions"
)
"""The limits in words."""


def unconverged_splits(splits: pd.DataFrame) -> list[int]:
    """Return the splits with too many divergences, or a limit that 1 % of the test points miss.

    A split of chains without an R-hat counts as well: they have too few draws, or never moved.
    """
    if R_HAT not in splits or splits.reindex(columns=[R_HAT, STEP_SIZE]).isna().all(axis=None):
        return []  # a method without chains; a table of several runs has the columns of all methods
    converged = (splits[R_HAT] <= MAX_R_HAT) & (splits.reindex(columns=ESS) >= MIN_ESS).all(axis=1)
    if DIVERGENCE_RATE in splits:
        converged &= splits[DIVERGENCE_RATE] <= MAX_DIVERGENCE_RATE
    return [int(split) for split in splits.loc[~converged, "split"]]
