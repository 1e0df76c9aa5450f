"""Bayesian linear regression with precisions from the evidence; a baseline for networks.

MacKay, "Bayesian interpolation", Neural Computation 4, 1992; Tipping, "Sparse Bayesian learning",
JMLR 1, 2001, Appendix A, whose updates scikit-learn's `BayesianRidge` iterates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from bnnbench.methods.shared.contract import COVARIANCE, Posterior
from bnnbench.methods.shared.estimators import EstimatorMethod
from bnnbench.methods.shared.gaussian import symmetric
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction


@dataclass(frozen=True, kw_only=True)
class Linear(EstimatorMethod):
    """Linear regression with a Gaussian prior on the slopes and exact inference.

    Noise precision and prior precision maximise the evidence, so nothing is searched. Network and
    training settings have no effect.
    """

    identity_name = "bnnbench.methods.linear.Linear"
    family = "linear"
    uses_evidence = True
    joint: ClassVar[str] = COVARIANCE

    def fit_replica(self, x: np.ndarray, y: np.ndarray, rows: int) -> Mapping[str, Any]:
        from sklearn.linear_model import BayesianRidge

        model = BayesianRidge().fit(x, y)
        return {
            "slopes": model.coef_,
            "intercept": [model.intercept_],
            "centre": model.X_offset_,
            "covariance": model.sigma_,
            "noise_precision": [model.alpha_],
        }

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point; the intercept counts as known."""
        state, x = posterior.state, inputs.double()
        mean = (x @ state["slopes"][..., None])[..., 0] + state["intercept"]
        centred = x - state["centre"][:, None]
        variance = ((centred @ state["covariance"]) * centred).sum(-1)
        return Prediction(mean[None], variance[None], 1 / state["noise_precision"])

    def joint_covariance(self, posterior: Posterior, inputs: Tensor) -> Tensor:
        """Return `x' S x'`, x centred; the intercept counts as known."""
        centred = inputs.double() - posterior.state["centre"][:, None]
        return symmetric(centred @ posterior.state["covariance"] @ centred.mT)
