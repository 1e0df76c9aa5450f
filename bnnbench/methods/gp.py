"""A Gaussian process: exact inference in function space, for some thousand rows.

Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, algorithm 2.1 and section
5.4.1; fitted by scikit-learn's `GaussianProcessRegressor`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from bnnbench.checks import check_int
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.estimators import counts, diverged, training_parts
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

SIZES, WIDTHS, NOISES = (1e-2, 1e3), (1e-1, 1e3), (1e-4, 1e1)
"""Bounds of signal variance, length scales and noise variance, standardised units."""


@dataclass(frozen=True, kw_only=True)
class GP(Method):
    """A zero-mean process with a Matern 5/2 kernel of one length scale per input, and noise.

    Signal variance, length scales and noise variance maximise the marginal likelihood of at most
    `kernel_rows` of the training rows, evenly spread over them; the posterior is that of all rows.
    Nothing is searched, and of settings for networks (depth, width, training) it has no use.

    Attributes:
        kernel_rows: how many rows choose the kernel; its cost grows with their cube.
    """

    kernel_rows: int = 500
    trains_network: ClassVar[bool] = False
    most_rows: ClassVar[int | None] = 2000

    def __post_init__(self) -> None:
        super().__post_init__()
        check_int("method.kernel_rows", self.kernel_rows, least=10)

    def seconds(self, rows: int) -> float:
        """Choosing the kernel, and inverting that of all rows."""
        return 3.0 * (min(rows, self.kernel_rows) / 500) ** 3 + (rows / 2000) ** 3

    @property
    def draws(self) -> bool:
        return False

    @torch.no_grad()
    def fit(self, task: FitTask) -> Posterior:
        """One process per replica, float64; one whose data are not finite has diverged."""
        rows, device = task.data.inputs.shape[1], task.data.inputs.device
        processes = [_fitted(x, y, self.kernel_rows, rows) for x, y in training_parts(task.data)]
        state = {
            name: torch.from_numpy(np.stack([own[name] for own in processes])).to(device)
            for name in processes[0]
        }
        return Posterior(state, task.hyper, task.mlp, counts(task.data), diverged(task.data))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One Gaussian per point."""
        state, x = posterior.state, inputs.double()
        size, noise = state["kernel"][:, :1], state["kernel"][:, 1:2]
        widths = state["kernel"][:, None, 2:]
        cross = size[..., None] * _matern(torch.cdist(x / widths, state["inputs"] / widths))
        real = torch.arange(cross.shape[2], device=x.device) < posterior.counts
        cross = cross * real[:, None]
        mean = (cross @ state["dual"][..., None])[..., 0]
        explained = (cross @ state["inverse_root"].mT).square().sum(-1)
        return Prediction(mean[None], (size - explained).clamp_min(0)[None], noise)


def _matern(distances: Tensor) -> Tensor:
    """Of smoothness 5/2 (eq. 4.17)."""
    scaled = math.sqrt(5) * distances
    return (1 + scaled + scaled.square() / 3) * torch.exp(-scaled)


def _fitted(x: np.ndarray, y: np.ndarray, kernel_rows: int, room: int) -> dict[str, np.ndarray]:
    """One process: what its predictions need.

    Args:
        x: `[N, D]`.
        y: `[N]`.
        kernel_rows: how many rows choose the kernel.
        room: rows of the arrays returned, zero from `N` on.

    Returns:
        `kernel` (signal variance, noise variance, length scales), `inputs`, `dual` weights and the
        inverse root of the rows' covariance.
    """
    from scipy.linalg import solve_triangular
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    start = (
        ConstantKernel(1.0, SIZES) * Matern(np.full(x.shape[1], 3.0), WIDTHS, nu=2.5)
        + WhiteKernel(0.1, NOISES)
    )  # fmt: skip
    some = np.linspace(0, len(x) - 1, min(kernel_rows, len(x))).astype(int)
    with warnings.catch_warnings():  # a length scale at its bound is no matter
        warnings.simplefilter("ignore", ConvergenceWarning)
        kernel = GaussianProcessRegressor(start).fit(x[some], y[some]).kernel_
    whole = GaussianProcessRegressor(kernel, alpha=1e-10, optimizer=None).fit(x, y)
    size, matern, noise = kernel.k1.k1, kernel.k1.k2, kernel.k2
    numbers = [size.constant_value, noise.noise_level, *np.atleast_1d(matern.length_scale)]
    root = solve_triangular(whole.L_, np.eye(len(x)), lower=True)
    more = room - len(x)
    return {
        "kernel": np.array(numbers),
        "inputs": np.pad(x, ((0, more), (0, 0))),
        "dual": np.pad(whole.alpha_, (0, more)),
        "inverse_root": np.pad(root, (0, more)),
    }
