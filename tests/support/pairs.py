"""Synthetic results of pairwise comparisons of runs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np
import pandas as pd

from bnnbench.results.compare.outcomes import with_outcomes
from bnnbench.results.compare.pairing import SplitScores
from bnnbench.results.compare.significance import compare_pairs
from bnnbench.results.metric_table import printed_in

SPLITS = 20

LEVEL = 100.0
"""RMSE of strength zero."""


def pairwise_results(
    strength: Mapping[str, float], dataset: str = "boston", noise: float = 0.1
) -> pd.DataFrame:
    """Return the rows of `outcomes.all_pairs` of runs with made-up scores.

    Args:
        strength: by run, how far its mean scores are above those of strength zero, in units of
            every score; equal strengths have equal scores.
        dataset: the data set of all runs.
        noise: standard deviation of each run's scores over splits. A difference of strength of 0.5
            is significant with the default, and none of a few with 20.
    """
    gains = {run: value + noise * noise_of(value) for run, value in strength.items()}
    scores = {
        metric.key: {run: -metric.sign * (own - LEVEL) for run, own in gains.items()}
        for metric in printed_in("pairs")
    }
    both = SplitScores(
        scores,
        {run: np.full(SPLITS, 0.1) for run in strength},
        {run: np.zeros(SPLITS) for run in strength},
    )
    pairs = dataset, both, both, combinations(strength, 2)
    return with_outcomes(compare_pairs([pairs]))


def noise_of(strength: float) -> np.ndarray:
    """Return standardised noise that depends on a strength, `[SPLITS]`."""
    noise = np.random.default_rng(round(1000 * strength) % 2**32).standard_normal(SPLITS)
    return (noise - noise.mean()) / noise.std()
