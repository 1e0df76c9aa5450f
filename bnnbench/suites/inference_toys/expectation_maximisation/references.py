"""What EM is held against: scikit-learn's, and the maximum by a general optimiser."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from bnnbench.suites.inference_toys.expectation_maximisation.model import (
    Parameters,
    log_likelihood,
)

DISPLACED = 0.3
"""How far from EM's end a search starts: log-odds, deviations of each component, log variances."""


def by_scikit_learn(points: np.ndarray, start: Parameters, iterations: int) -> Parameters:
    """Theta after so many iterations of its `GaussianMixture`, nothing added to variances.

    Args:
        points: `[N]`.
        start: theta.
        iterations: at least one.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    mixture = GaussianMixture(
        2,
        covariance_type="diag",
        reg_covar=0.0,
        tol=0.0,
        max_iter=iterations,
        weights_init=start.weight,
        means_init=start.loc[:, None],
        precisions_init=1 / start.variance[:, None],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a tolerance of zero is never met
        mixture.fit(points[:, None])
    return Parameters(mixture.weights_, mixture.means_[:, 0], mixture.covariances_[:, 0])


def nearest_maximum(points: np.ndarray, near: Parameters) -> Parameters:
    """The maximum of the likelihood that BFGS finds around `near`, without EM's steps.

    Over the log-odds of the weight, the means and the logarithms of the variances, and started
    beside `near`, so that it has to find the way itself.
    """

    def parameters(place: np.ndarray) -> Parameters:
        weight = expit(place[0])
        return Parameters(np.array([weight, 1 - weight]), place[1:3], np.exp(place[3:]))

    def loss(place: np.ndarray) -> float:
        return -log_likelihood(points, parameters(place)) / len(points)

    place = np.concatenate([[logit(near.weight[0])], near.loc, np.log(near.variance)])
    beside = place + DISPLACED * np.concatenate([[1], np.sqrt(near.variance), [1, 1]])
    return parameters(minimize(loss, beside, options={"gtol": 1e-8}).x)
