"""Whether chains have mixed, and how many independent draws they are worth, by `arviz_stats`.

Vehtari, Gelman, Simpson, Carpenter & Bürkner, "Rank-normalization, folding, and localization: An
improved R-hat", *Bayesian Analysis* 2021. Told of predictions: weights are not identified, since
hidden units can trade places.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.shared.contract import Diagnosis

NAMES = ("r_hat", "bulk_ess", "tail_ess")

MOST_OF_THEM = 0.95
"""Share of the points that a summary speaks of: R-hat is at most this, sizes at least."""

TAILS = (0.05, 0.95)

LEAST_DRAWS = 4
"""Of a chain, without which its halves have no variance."""


def mixing(series: Tensor) -> dict[str, Tensor]:
    """Rank-normalised split R-hat, and effective sample sizes of the bulk and of the tails.

    Args:
        series: `[C, K, ...]`, K draws of each of C chains.

    Returns:
        `r_hat`, `bulk_ess` and `tail_ess`, `[...]` each, float64; NaN for what never moves, and of
        too few draws or a single chain.
    """
    from arviz_stats.base import array_stats

    chains, draws, *shape = series.shape
    if chains < 2 or draws < LEAST_DRAWS:
        return {name: torch.full(shape, torch.nan, dtype=torch.float64) for name in NAMES}
    array, axes = series.double().cpu().numpy(), {"chain_axis": 0, "draw_axis": 1}
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (
            array_stats.rhat(array, **axes),
            array_stats.ess(array, **axes),
            array_stats.ess(array, method="tail", prob=TAILS, **axes),
        )
    return {n: torch.from_numpy(np.asarray(v)) for n, v in zip(NAMES, found, strict=True)}


def diagnosis(predicted: Tensor, rows: Sequence[int]) -> Diagnosis:
    """Of predictions at each point, and what 95 % of a replica's points are at least as good as.

    Args:
        predicted: `[C, K, R, M]`, what each draw predicts.
        rows: how many of each replica's points are no padding.
    """
    points = mixing(predicted)
    worst = {name: MOST_OF_THEM if name == "r_hat" else 1 - MOST_OF_THEM for name in points}
    summary = {
        name: torch.stack(
            [own[:count].nanquantile(worst[name]) for own, count in zip(values, rows, strict=True)]
        )
        for name, values in points.items()
    }
    return Diagnosis(points, summary)
