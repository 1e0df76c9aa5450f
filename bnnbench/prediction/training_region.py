"""The region of the training data, outside of which predictions extrapolate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from scipy.spatial import KDTree

from bnnbench.preprocessing import Scaler
from bnnbench.search.rows_to_label import nearest_distances

QUANTILE = 0.99
"""Fraction of the training rows whose distances count as typical."""

MAX_ROWS = 5_000
"""Maximum number of stored training rows; of more, a random subset."""


@dataclass(frozen=True)
class TrainingRegion:
    """Ranges of the features, and rows to measure distances from.

    A new row is outside if it is outside the range of a feature, or if its distance to the nearest
    row is larger than the 99 % quantile of the rows' own distances to their nearest other row.
    Times are ignored, because new rows are usually later.

    Attributes:
        rows: training inputs, `[N, D]`, original units, NaN for missing values.
        low: smallest value of each feature among all training rows, `[D]`; infinite if missing.
        high: largest values, `[D]`; minus infinite if missing.
        is_time: which features are those of `dataset.time`, `[D]`.
    """

    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    is_time: np.ndarray

    @classmethod
    def of(cls, inputs: np.ndarray, is_time: np.ndarray, seed: int) -> TrainingRegion:
        """Return the region of training inputs `[N, D]`, in original units."""
        order = np.random.RandomState(seed).permutation(len(inputs))[:MAX_ROWS]
        low = np.nan_to_num(inputs, nan=np.inf).min(0)
        high = np.nan_to_num(inputs, nan=-np.inf).max(0)
        return cls(inputs[np.sort(order)], low, high, is_time)

    def among_rows(self, inputs: np.ndarray) -> int:
        """Return how many of the new inputs `[M, D]` equal those of a stored row."""
        kept = {row.tobytes() for row in self.rows}
        return sum(row.tobytes() in kept for row in np.ascontiguousarray(inputs))

    def standardised(self, scaler: Scaler, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs `[M, D]` and the rows of the region in standardised units, float64."""
        exact = replace(scaler, dtype=torch.float64)
        new, rows = (exact.inputs([one])[0].cpu().numpy() for one in (inputs, self.rows))
        return new, rows

    def reasons(self, scaler: Scaler, inputs: np.ndarray) -> np.ndarray:
        """Return why rows are outside.

        Args:
            scaler: of the training rows.
            inputs: `[M, D]`, original units; missing values are never outside.

        Returns:
            `[M, D + 1]`: outside the range of each feature, and far from all rows.
        """
        new, rows = (found[:, ~self.is_time] for found in self.standardised(scaler, inputs))
        far = np.zeros(len(inputs), bool)
        if rows.shape[1]:
            limit = np.quantile(KDTree(rows).query(rows, k=2)[0][:, 1], QUANTILE)
            far = nearest_distances(new, rows) > limit
        beyond = (inputs < self.low) | (inputs > self.high)
        return np.column_stack([beyond & ~self.is_time, far])


def describe_outside(
    reasons: np.ndarray, unknown: np.ndarray, features: Sequence[str], name: str
) -> list[str]:
    """Return a sentence with the number of rows outside the training data; none if there are none.

    Args:
        reasons: from `TrainingRegion.reasons`.
        unknown: whether a row has a category that is not among the training rows, `[M]`.
        features: the names of the inputs; the three with most rows out of their range are named.
        name: of the file, for the sentence.
    """
    count = int((reasons.any(1) | unknown).sum())
    if not count:
        return []
    ranges, far = reasons[:, :-1].sum(0), int(reasons[:, -1].sum())
    most = [k for k in np.argsort(-ranges, kind="stable")[:3] if ranges[k]]
    parts = [f"{ranges[k]} outside the range of {features[k]}" for k in most]
    parts += [f"{unknown.sum()} with an unknown category"] * bool(unknown.any())
    parts += [f"{far} far from all training rows"] * bool(far)
    return [
        f"{name}: {count} of {len(reasons)} rows {'is' if count == 1 else 'are'} outside the "
        f"region of the training data ({', '.join(parts)}); intervals may be too narrow there "
        "(column outside_training_region)"
    ]
