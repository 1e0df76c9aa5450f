"""Reference solutions: EM of scikit-learn, and the maximum by BFGS."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from bnnbench.suites.inference_toys.expectation_maximisation.model import log_likelihood

START_OFFSET = 0.3
"""Offset of the start from EM's result, in log-odds, standard deviations and log variances."""


def fit_scikit_learn(points: np.ndarray, start: np.ndarray, iterations: int) -> np.ndarray:
    """Return theta after at least one iteration of an unregularised `GaussianMixture`."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    weight, loc, variance = start
    initial = {"weights": weight, "means": loc[:, None], "precisions": 1 / variance[:, None]}
    options = {f"{name}_init": value for name, value in initial.items()}
    mixture = GaussianMixture(
        2, covariance_type="diag", reg_covar=0.0, tol=0.0, max_iter=iterations, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a tolerance of zero is never reached
        mixture.fit(points[:, None])
    return np.array([mixture.weights_, mixture.means_[:, 0], mixture.covariances_[:, 0]])


def local_maximum(points: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Maximise the likelihood with BFGS from a start close to, but not at, `near`.

    The free variables are the log-odds of the weight, the means and the log variances.
    """

    def theta(free: np.ndarray) -> np.ndarray:
        weight = expit(free[0])
        return np.array([[weight, 1 - weight], free[1:3], np.exp(free[3:])])

    def loss(free: np.ndarray) -> float:
        return -log_likelihood(points, theta(free)) / len(points)

    weight, loc, variance = near
    free = np.array([logit(weight[0]), *loc, *np.log(variance)])
    start = free + START_OFFSET * np.array([1, *np.sqrt(variance), 1, 1])
    return theta(minimize(loss, start, options={"gtol": 1e-8}).x)
