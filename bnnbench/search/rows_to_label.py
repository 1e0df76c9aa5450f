"""Rules that choose which rows of a pool to label next."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree


def nearest_distances(rows: np.ndarray, labelled: np.ndarray) -> np.ndarray:
    """Return the distance of each row to the nearest labelled row.

    Args:
        rows: standardised inputs, `[M, D]`.
        labelled: standardised inputs, `[N, D]`.
    """
    distances: np.ndarray = KDTree(labelled).query(rows)[0]
    return distances


def choose_by_distance(
    pool: np.ndarray, labelled: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows of a pool, each the farthest from the labelled rows and those chosen before it.

    Args:
        pool: standardised inputs, `[M, D]`; the first of equal rows is chosen.
        labelled: standardised inputs, `[N, D]`.
        count: number of rows to choose.

    Returns:
        Their indices in the order of choice, and their distances when they were chosen.
    """
    distances, chosen = nearest_distances(pool, labelled), np.zeros(count, int)
    scores = np.zeros(count)
    for k in range(count):
        row = chosen[k] = distances.argmax()
        scores[k] = distances[row]
        distances = np.minimum(distances, np.linalg.norm(pool - pool[row], axis=1))
        distances[row] = -np.inf
    return chosen, scores


def choose_by_variance(
    covariance: np.ndarray, noise: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows, each with the largest epistemic variance given labels of those before it.

    With Gaussian predictions the variance does not depend on the values of the labels (Rasmussen &
    Williams 2006, eq. 2.24), and with a constant noise every choice adds the most information, so
    this is greedy D-optimal design (Krause, Singh & Guestrin 2008).

    Args:
        covariance: epistemic, `[M, M]`; the first of equal rows is chosen.
        noise: variance of a label, `[M]`.
        count: number of rows to choose.

    Returns:
        Their indices in the order of choice, and their variances when they were chosen.
    """
    covariance, chosen, scores = covariance.copy(), np.zeros(count, int), np.zeros(count)
    is_free = np.ones(len(noise), bool)
    for k in range(count):
        row = chosen[k] = np.where(is_free, covariance.diagonal(), -np.inf).argmax()
        scores[k], is_free[row] = max(covariance[row, row], 0.0), False
        column = covariance[:, row].copy()
        covariance -= np.outer(column, column / (scores[k] + noise[row]))
    return chosen, scores
