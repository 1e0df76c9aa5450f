"""Central and conformal prediction intervals of test points.

Conformal intervals are calibrated with out-of-fold predictions of the training rows, never with the
test part. If calibration points and test points are exchangeable and predicted by one model, the
coverage of a split conformal interval has a Beta distribution (`in_coverage_band`). Here the model
of the test points is fitted to all training rows and those of the calibration points to the other
folds, so that this holds approximately. CV+ predicts the test points with the networks of the folds
and guarantees a coverage of at least `2 level - 1` (Barber, Candès, Ramdas & Tibshirani,
"Predictive Inference with the Jackknife+", Annals of Statistics, 2021, theorem 4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtri

from bnnbench.results.score.calibration import ends_from_mean
from bnnbench.results.score.predictions import SplitPredictions
from bnnbench.results.score.predictive_distances import MAX_ARRAY_ELEMENTS

LEVEL = 0.9
"""Level of the intervals."""

ROUNDING_ERROR = 1e-9
"""Rounding error of a sum of weights."""

BAND = 0.95
"""Probability of the band of coverage."""

RAW, CONSTANT, CQR, CV_PLUS = "raw", "constant", "cqr", "cv+"


def conformal_radius(
    scores: np.ndarray, level: float = LEVEL, groups: np.ndarray | None = None
) -> float:
    """Return the score that a new row does not exceed with probability `level`.

    With `n` rows this is the `ceil((n + 1) level)`-th smallest score, since every rank of a new row
    is equally likely (Vovk, Gammerman & Shafer 2005; Lei et al. 2018, eq. 3). With `K` groups,
    every group has the weight `1 / (K + 1)`, divided evenly among its rows; a row of a new group is
    covered (Lee, Barber & Willett 2023, hierarchical conformal prediction).

    Args:
        scores: of the calibration rows, `[n]`.
        level: the probability.
        groups: the group of each row, `[n]`; every row is one by default.

    Returns:
        Infinity if there are too few rows or groups for the level.
    """
    numbers = np.arange(len(scores)) if groups is None else groups
    _, index, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    order = np.argsort(scores, kind="stable")
    covered = np.cumsum(1 / counts[index[order]]) / (len(counts) + 1)
    place = int(np.searchsorted(covered, level - ROUNDING_ERROR))
    return float(scores[order[place]]) if place < len(scores) else math.inf


def cv_plus(
    residuals: np.ndarray, folds: np.ndarray, fold_means: np.ndarray, level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of CV+ intervals (Barber et al. 2021, section 3), `[M]` each.

    With the residual R_i of training row i and the prediction m_i(x) of its fold's network, they
    are the `floor((n + 1)(1 - level))`-th smallest `m_i(x) - R_i` and the `ceil((n + 1) level)`-th
    smallest `m_i(x) + R_i`.

    Args:
        residuals: absolute out-of-fold residuals, `[n]`.
        folds: the fold of each, `[n]`.
        fold_means: predictions of the test points by the networks of each fold, `[M, K]`.
        level: of the intervals.
    """
    rows = len(residuals)
    rank = math.ceil((rows + 1) * level - ROUNDING_ERROR)
    if rank > rows:
        infinite = np.full(len(fold_means), math.inf)
        return -infinite, infinite
    pieces = []
    for part in np.array_split(fold_means, 1 + len(fold_means) * rows // MAX_ARRAY_ELEMENTS):
        below, above = part[:, folds] - residuals, part[:, folds] + residuals
        low = np.partition(below, rows - rank, 1)[:, rows - rank]
        pieces.append((low, np.partition(above, rank - 1, 1)[:, rank - 1]))
    low, high = map(np.concatenate, zip(*pieces, strict=True))
    return low, high


def interval_ends(predictions: SplitPredictions) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name and both ends, relative to the predictive means, of every kind of interval.

    `raw` is the central interval of the predictive distribution (see `calibration`). Then, if
    there are out-of-fold predictions: `constant`, the split conformal interval; `cqr`, `raw`
    widened by the same amount at both ends everywhere (conformalised quantile regression; Romano,
    Patterson & Candès, NeurIPS 2019, section 4); and, if predictions of the folds' networks were
    saved, `cv+`.
    """
    points, held_out = predictions.points, predictions.held_out
    half = float(ndtri((1 + LEVEL) / 2))
    low, high = (ends_from_mean(points, score) for score in (-half, half))
    yield RAW, low, high
    if held_out.empty:
        return
    errors = (held_out["target"] - held_out["mean"]).to_numpy()
    residuals = np.abs(errors)
    radius = np.full(len(points), conformal_radius(residuals))
    yield CONSTANT, -radius, radius
    below, above = (ends_from_mean(held_out, score) for score in (-half, half))
    margin = conformal_radius(np.maximum(below - errors, errors - above))
    yield CQR, np.minimum(low - margin, 0), np.maximum(high + margin, 0)
    if predictions.fold_means is not None:
        ends = cv_plus(residuals, held_out["fold"].to_numpy(), predictions.fold_means)
        yield CV_PLUS, *(end - points["mean"].to_numpy() for end in ends)


def split_intervals(predictions: SplitPredictions) -> list[dict[str, Any]]:
    """Return a row per kind of interval.

    Columns: `split`, `interval`; the `coverage`, mean `width` and interval `score` of the test
    points; and the numbers of `points` and of `calibration` points.
    """
    points = predictions.points
    error = (points["target"] - points["mean"]).to_numpy()
    rows = []
    for name, low, high in interval_ends(predictions):
        outside = np.maximum(low - error, 0) + np.maximum(error - high, 0)
        rows.append({
            "split": predictions.split, "interval": name,
            "coverage": (outside == 0).mean(), "width": (high - low).mean(),
            "score": (high - low + 2 / (1 - LEVEL) * outside).mean(),
            "points": len(points), "calibration": len(predictions.held_out),
        })  # fmt: skip
    return rows


def in_coverage_band(
    covered: np.ndarray, tested: np.ndarray, calibration: np.ndarray, level: float = LEVEL
) -> np.ndarray:
    """Return whether numbers of covered test points are likely for split conformal intervals.

    With n calibration points and `k = ceil((n + 1) level)`, coverage is distributed as `Beta(k, n +
    1 - k)` (Vovk, "Conditional validity of inductive conformal predictors", 2012), and the number
    of covered test points as its binomial mixture. A number is likely if neither tail has a
    probability below `(1 - BAND) / 2`.

    Args:
        covered: numbers of covered test points.
        tested: numbers of test points.
        calibration: numbers of calibration points.
        level: of the intervals.
    """
    from scipy.stats import betabinom

    k = np.ceil((calibration + 1) * level - ROUNDING_ERROR)
    distribution = betabinom(tested, k, calibration + 1 - k)
    tails = np.minimum(distribution.cdf(covered), distribution.sf(covered - 1))
    return np.asarray(tails >= (1 - BAND) / 2)
