"""Synthetic results of pairwise comparisons of runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from bnnbench.results.significance import COLUMNS


def pairwise_results(
    strength: Mapping[str, float], dataset: str = "boston", probability: float = 0.99
) -> pd.DataFrame:
    """Return rows like those of `all_pairs`.

    Args:
        strength: strength by run; the stronger run of a pair is better.
        dataset: the data set of all runs.
        probability: probability that the stronger run is better; otherwise it is worse.
    """
    rows = []
    for a, b in combinations(strength, 2):
        lead = int(np.sign(strength[a] - strength[b]))
        chances = {
            1: (probability, 0, 1 - probability),
            0: (0, 1, 0),
            -1: (1 - probability, 0, probability),
        }[lead]
        for metric, sign in (("rmse", -1), ("log_likelihood", 1), ("crps", -1)):
            row = dict(zip(("p_better", "p_equivalent", "p_worse"), chances, strict=True))
            row |= {"dataset": dataset, "metric": metric, "run_a": a, "run_b": b}
            rows.append(row | {"difference": sign * lead, "splits": 20, "of_splits": 20})
    return pd.DataFrame(rows, columns=COLUMNS)
