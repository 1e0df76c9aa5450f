"""What methods share that fit scikit-learn's estimators, one per replica."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from torch import Tensor

from bnnbench.types import TrainingSet


def training_parts(data: TrainingSet) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs `[N, D]` and targets `[N]` of each replica, float64, without padding.

    What is not finite is zero: the replica is lost (see `diverged`), and the others go on.
    """
    inputs, targets = (
        part.double().nan_to_num(0, 0, 0).cpu().numpy() for part in (data.inputs, data.targets)
    )
    for x, y, count in zip(inputs, targets, data.counts, strict=True):
        yield x[:count], y[:count]


def diverged(data: TrainingSet) -> Tensor:
    """Which replicas have nothing to be fitted to, `[R]`."""
    return ~(data.inputs.isfinite().flatten(1).all(1) & data.targets.isfinite().all(1))


def counts(data: TrainingSet) -> Tensor:
    """Training rows of each replica, `[R, 1]`, float64."""
    return data.inputs.new_tensor(data.counts).double()[:, None]
