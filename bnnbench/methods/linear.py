"""Bayesian linear regression with precisions from the evidence; a baseline for networks.

MacKay, "Bayesian interpolation", Neural Computation 4, 1992; Tipping, "Sparse Bayesian learning",
JMLR 1, 2001, Appendix A, whose updates scikit-learn's `BayesianRidge` iterates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.estimators import counts, diverged, training_parts
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction


@dataclass(frozen=True, kw_only=True)
class Linear(Method):
    """Linear regression with a Gaussian prior on the slopes and exact inference.

    Noise precision and prior precision maximise the evidence, so nothing is searched. Network and
    training settings have no effect.
    """

    trains_network: ClassVar[bool] = False

    @property
    def is_stochastic(self) -> bool:
        return False

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """Fit one model per replica, in float64."""
        from sklearn.linear_model import BayesianRidge

        models = [BayesianRidge().fit(x, y) for x, y in training_parts(task.data)]
        state = {
            "slopes": _stacked([m.coef_ for m in models]),
            "intercept": _stacked([[m.intercept_] for m in models]),
            "centre": _stacked([m.X_offset_ for m in models]),
            "covariance": _stacked([m.sigma_ for m in models]),
            "noise_precision": _stacked([[m.alpha_] for m in models]),
        }
        state = {name: value.to(task.data.inputs.device) for name, value in state.items()}
        return Posterior(state, task.hyper, task.mlp, counts(task.data), diverged(task.data))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point; the intercept counts as known."""
        state, x = posterior.state, inputs.double()
        mean = (x @ state["slopes"][..., None])[..., 0] + state["intercept"]
        centred = x - state["centre"][:, None]
        variance = ((centred @ state["covariance"]) * centred).sum(-1)
        return Prediction(mean[None], variance[None], 1 / state["noise_precision"])


def _stacked(arrays: list[Any]) -> Tensor:
    return torch.from_numpy(np.stack([np.asarray(a, np.float64) for a in arrays]))
