"""Proper scores of predictive distributions that weigh parts of a distribution differently.

Gneiting & Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", JASA 2007, for
interval score and quantile loss; Gneiting & Ranjan, "Comparing Density Forecasts Using Threshold-
and Quantile-Weighted Scoring Rules", JBES 2011, for the tail-weighted CRPS. All are in the target's
unit; lower is better.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scoringrules

from bnnbench.results.score.conformal import LEVEL
from bnnbench.results.score.predictions import Mixture, SplitPredictions
from bnnbench.results.score.predictive_distances import (
    MAX_ARRAY_ELEMENTS,
    exact_quantiles,
    mixture_cdf,
)

QUANTILES = np.arange(1, 10) / 10
"""Levels over which the quantile loss is averaged."""

TAIL = 0.1
"""Fraction of the training targets in each tail."""

PIT_BINS = 10

PIT_COLUMNS = tuple(f"pit_{k}" for k in range(PIT_BINS))
"""Fractions of PIT values by interval of width 0.1, from 0 on."""

EVALUATIONS = 256
"""Evaluations of the CDF of a component per point."""

SUPPORT = 8.5
"""Standard deviations around components beyond which a density is taken to be 0."""

PANEL, MAX_PANELS = 4.0, 64
"""Width of the panels of a quadrature, in standard deviations, and their largest number."""

NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(16)


def split_proper_scores(predictions: SplitPredictions) -> list[dict[str, Any]]:
    """Return a row with the mean scores of a split.

    Columns: `split`; `interval_score` of the central interval; `quantile_loss`, the mean over
    `QUANTILES`; `tail_crps`, missing without out-of-fold predictions, which contain the training
    targets; and `PIT_COLUMNS`.
    """
    targets, mixture = predictions.points["target"].to_numpy(), predictions.mixture
    tails = np.array([math.nan, math.nan])
    if len(predictions.held_out):
        tails = np.quantile(predictions.held_out["target"], [TAIL, 1 - TAIL])
    pieces = 1 + len(targets) * mixture.components * EVALUATIONS // MAX_ARRAY_ELEMENTS
    parts = [
        point_scores(mixture.select_points(chunk), targets[chunk], *tails)
        for chunk in np.array_split(np.arange(len(targets)), pieces)
    ]
    scores = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    pit = np.histogram(scores.pop("pit"), PIT_BINS, (0, 1))[0] / len(targets)
    means = {name: float(values.mean()) for name, values in scores.items()}
    return [{"split": predictions.split, **means, **dict(zip(PIT_COLUMNS, pit, strict=True))}]


def point_scores(
    mixture: Mixture, targets: np.ndarray, low: float, high: float
) -> dict[str, np.ndarray]:
    """Return `interval_score`, `quantile_loss`, `tail_crps` and `pit` of each point, `[M]` each.

    Args:
        mixture: the predictive distributions of M points.
        targets: `[M]`.
        low: upper end of the lower tail; NaN if it is not known.
        high: lower end of the upper tail.
    """
    levels = np.array([(1 - LEVEL) / 2, *QUANTILES, (1 + LEVEL) / 2])
    lower, *inner, upper = exact_quantiles(mixture, levels[None]).T
    losses = [
        scoringrules.quantile_score(targets, found, level)
        for found, level in zip(inner, QUANTILES, strict=True)
    ]
    known = math.isfinite(low)
    interval_score = scoringrules.interval_score(targets, lower, upper, 1 - LEVEL)
    return {
        "interval_score": np.reshape(interval_score, len(targets)),  # one point gives a scalar
        "quantile_loss": np.mean(losses, 0),
        "tail_crps": tail_crps(mixture, targets, low, high) if known else np.full(len(lower), low),
        "pit": mixture_cdf(mixture, targets[:, None])[:, 0],
    }


def tail_crps(mixture: Mixture, targets: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the CRPS restricted to both tails, `[M]`.

    `int (F(z) - [z >= y])^2 dz` over `z <= low` and `z >= high` (Gneiting & Ranjan 2011, eq. 6,
    with an indicator as weight), which is the sum of the CRPS of the distributions censored at
    `low` and at `high`. Gauss-Legendre quadrature is accurate to rounding, unless deviations of
    components differ by more than 100 times. (`crps_cnormal` of scoringrules gives NaN if the mean
    is 38 deviations away from a tail.)

    Args:
        mixture: the predictive distributions of M points.
        targets: `[M]`.
        low: upper end of the lower tail.
        high: lower end of the upper tail.
    """
    units, is_log, margin = mixture.targets, mixture.log, SUPPORT * mixture.deviation
    low, high = map(float, mixture.fitted(np.array([low, high])))
    targets, mixture = mixture.fitted(targets), replace(mixture, log=False)
    first, last = (mixture.loc - margin).min(1), (mixture.loc + margin).max(1)
    panels = np.ceil((last - first) / (PANEL * mixture.deviation.min(1))).max(initial=1)
    even = np.linspace(first, last, int(min(panels, MAX_PANELS)) + 1, axis=1)
    breaks = np.stack([np.full(len(targets), low), targets, np.full(len(targets), high)], 1)
    edges = np.sort(np.hstack([even, np.clip(breaks, first[:, None], last[:, None])]), 1)
    width, middle = np.diff(edges), (edges[:, 1:] + edges[:, :-1]) / 2
    grid = middle[..., None] + width[..., None] * NODES / 2
    cdf = mixture_cdf(mixture, grid.reshape(len(grid), -1)).reshape(grid.shape)
    squares = (cdf - (middle >= targets[:, None])[..., None]) ** 2
    in_tail = (middle <= low) | (middle >= high)
    if is_log:  # the integral is over the target
        squares *= units(grid)
    inside = (squares @ NODE_WEIGHTS * width / 2 * in_tail).sum(1)

    def tail_length(start: np.ndarray, end: np.ndarray) -> np.ndarray:
        end = np.maximum(start, end)
        inner = units(np.clip(end, low, high)) - units(np.clip(start, low, high))
        return np.asarray(units(end) - units(start) - inner)

    # Beyond the support the integrand is 0 or 1.
    return np.asarray(inside + tail_length(last, targets) + tail_length(targets, first))
