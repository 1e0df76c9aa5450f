"""Comparisons of runs as if they had been tested, on strengths that are given."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from bnnbench.results.significance import COLUMNS


def duels(
    strength: Mapping[str, float], dataset: str = "boston", sure: float = 0.99
) -> pd.DataFrame:
    """Rows like those of `all_pairs`: the stronger is better, beyond the ROPE at chance `sure`.

    Args:
        strength: by run.
        dataset: of all of them.
        sure: what is left is the chance of the opposite.
    """
    rows = []
    for a, b in combinations(strength, 2):
        lead = int(np.sign(strength[a] - strength[b]))
        chances = {1: (sure, 0, 1 - sure), 0: (0, 1, 0), -1: (1 - sure, 0, sure)}[lead]
        for metric, sign in (("rmse", -1), ("log_likelihood", 1), ("crps", -1)):
            row = dict(zip(("p_better", "p_equivalent", "p_worse"), chances, strict=True))
            row |= {"dataset": dataset, "metric": metric, "run_a": a, "run_b": b}
            rows.append(row | {"difference": sign * lead, "splits": 20, "of_splits": 20})
    return pd.DataFrame(rows, columns=COLUMNS)
