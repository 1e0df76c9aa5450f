"""Gaussian process regression: exact inference for up to a few thousand rows.

Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, algorithm 2.1 and section
5.4.1; fitted by scikit-learn's `GaussianProcessRegressor`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.constraints import Whole
from bnnbench.methods.shared.contract import COVARIANCE, Posterior
from bnnbench.methods.shared.estimators import EstimatorMethod
from bnnbench.methods.shared.gaussian import symmetric
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

SIGNAL_VARIANCE_BOUNDS = (1e-2, 1e3)
LENGTH_SCALE_BOUNDS = (1e-1, 1e3)
NOISE_VARIANCE_BOUNDS = (1e-4, 1e1)  # all in standardised units


@dataclass(frozen=True, kw_only=True)
class GP(EstimatorMethod):
    """A zero-mean Gaussian process with a Matern 5/2 kernel and one length scale per input.

    Signal variance, length scales and noise variance maximise the marginal likelihood of at most
    `kernel_rows` evenly spaced training rows; the posterior uses all rows. Nothing is searched, and
    network and training settings have no effect.

    Attributes:
        kernel_rows: rows used to fit the kernel, at cubic cost.
    """

    identity_name = "bnnbench.methods.gp.GP"
    family = "gp"
    uses_evidence = True
    kernel_rows: Annotated[int, Whole(10)] = 500
    max_rows = 2000
    joint: ClassVar[str] = COVARIANCE

    def fit_seconds(self, rows: int) -> float:
        """Return the duration of fitting the kernel and inverting the covariance of all rows."""
        return 3.0 * (min(rows, self.kernel_rows) / 500) ** 3 + (rows / 2000) ** 3

    def kernel_subset(self, rows: int) -> np.ndarray:
        """Return the numbers of the training rows that fit the kernel."""
        return np.linspace(0, rows - 1, min(self.kernel_rows, rows)).astype(int)

    def fit_replica(self, x: np.ndarray, y: np.ndarray, rows: int) -> dict[str, np.ndarray]:
        """Fit one process.

        Returns:
            `kernel` (signal variance, noise variance, length scales), `inputs`, `dual` weights and
            the inverse root of the rows' covariance, zero from row N on.
        """
        from scipy.linalg import solve_triangular
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        start = (
            ConstantKernel(1.0, SIGNAL_VARIANCE_BOUNDS)
            * Matern(np.full(x.shape[1], 3.0), LENGTH_SCALE_BOUNDS, nu=2.5)
            + WhiteKernel(0.1, NOISE_VARIANCE_BOUNDS)
        )  # fmt: skip
        subset = self.kernel_subset(len(x))
        with warnings.catch_warnings():  # a length scale may reach its bound
            warnings.simplefilter("ignore", ConvergenceWarning)
            kernel = GaussianProcessRegressor(start).fit(x[subset], y[subset]).kernel_
        process = GaussianProcessRegressor(kernel, alpha=1e-10, optimizer=None).fit(x, y)
        signal, matern, noise = kernel.k1.k1, kernel.k1.k2, kernel.k2
        parameters = [signal.constant_value, noise.noise_level, *np.atleast_1d(matern.length_scale)]
        root = solve_triangular(process.L_, np.eye(len(x)), lower=True)
        padding = rows - len(x)
        return {
            "kernel": np.array(parameters),
            "inputs": np.pad(x, ((0, padding), (0, 0))),
            "dual": np.pad(process.alpha_, (0, padding)),
            "inverse_root": np.pad(root, (0, padding)),
        }

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one Gaussian per point."""
        state, cross = posterior.state, _cross_covariance(posterior, inputs.double())
        signal, noise = state["kernel"][:, :1], state["kernel"][:, 1:2]
        mean = (cross @ state["dual"][..., None])[..., 0]
        explained = (cross @ state["inverse_root"].mT).square().sum(-1)
        return Prediction(mean[None], (signal - explained).clamp_min(0)[None], noise)

    def joint_covariance(self, posterior: Posterior, inputs: Tensor) -> Tensor:
        """Return `k(x, x') - k(x, X) (K + noise)^-1 k(X, x')` (eq. 2.24)."""
        x = inputs.double()
        explained = _cross_covariance(posterior, x) @ posterior.state["inverse_root"].mT
        return symmetric(_kernel(posterior, x, x) - explained @ explained.mT)


def _cross_covariance(posterior: Posterior, x: Tensor) -> Tensor:
    """Return `k(x, X)`, `[R, M, N]`, of inputs and the training rows X; zero on padding."""
    cross = _kernel(posterior, x, posterior.state["inputs"])
    real = torch.arange(cross.shape[2], device=x.device) < posterior.counts
    return cross * real[:, None]


def _kernel(posterior: Posterior, x: Tensor, other: Tensor) -> Tensor:
    """Return the Matern 5/2 kernel (eq. 4.17), `[R, M, N]`."""
    kernel = posterior.state["kernel"]
    signal, scales = kernel[:, :1, None], kernel[:, None, 2:]
    scaled = math.sqrt(5) * torch.cdist(x / scales, other / scales)
    return signal * ((1 + scaled + scaled.square() / 3) * torch.exp(-scaled))
