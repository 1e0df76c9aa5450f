"""Helpers of methods that fit one scikit-learn estimator per replica."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from bnnbench.types import TrainingSet


def training_parts(data: TrainingSet) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield inputs `[N, D]` and targets `[N]` of each replica, float64, without padding.

    Values that are not finite become zero; `diverged` marks their replica.
    """
    inputs, targets = (
        part.double().nan_to_num(0, 0, 0).cpu().numpy() for part in (data.inputs, data.targets)
    )
    for x, y, count in zip(inputs, targets, data.counts, strict=True):
        yield x[:count], y[:count]


def diverged(data: TrainingSet) -> Tensor:
    """Return which replicas have non-finite data, `[R]`."""
    return ~(data.inputs.isfinite().flatten(1).all(1) & data.targets.isfinite().all(1))


def counts(data: TrainingSet) -> Tensor:
    """Return the number of training rows of each replica, `[R, 1]`, float64."""
    return data.inputs.new_tensor(data.counts).double()[:, None]
