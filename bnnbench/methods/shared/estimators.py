"""The base class of methods that fit one scikit-learn estimator per replica."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch

from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.types import TrainingSet


@dataclass(frozen=True, kw_only=True)
class EstimatorMethod(Method):
    """A method that is fitted in float64, one replica after the other, and samples nothing.

    A replica with non-finite data counts as diverged.
    """

    trains_network: ClassVar[bool] = False
    is_stochastic: ClassVar[bool] = False

    @abstractmethod
    def fit_replica(self, x: np.ndarray, y: np.ndarray, rows: int) -> Mapping[str, Any]:
        """Return the parameters of one replica: arrays of the same shapes for all replicas.

        Args:
            x: `[N, D]`.
            y: `[N]`.
            rows: largest N of all replicas.
        """

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        data, rows = task.data, task.data.inputs.shape[1]
        fitted = [self.fit_replica(x, y, rows) for x, y in _training_parts(data)]
        state = {
            name: torch.from_numpy(np.stack([np.asarray(one[name]) for one in fitted]))
            for name in fitted[0]
        }
        state = {name: value.to(data.inputs.device) for name, value in state.items()}
        diverged = ~(data.inputs.isfinite().flatten(1).all(1) & data.targets.isfinite().all(1))
        counts = data.inputs.new_tensor(data.counts).double()[:, None]
        return Posterior(state, task.hyper, task.mlp, counts, diverged)


def _training_parts(data: TrainingSet) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield inputs `[N, D]` and targets `[N]` of each replica, without padding.

    Values that are not finite become zero.
    """
    inputs, targets = (
        part.double().nan_to_num(0, 0, 0).cpu().numpy() for part in (data.inputs, data.targets)
    )
    for x, y, count in zip(inputs, targets, data.counts, strict=True):
        yield x[:count], y[:count]
