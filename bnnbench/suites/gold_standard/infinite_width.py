"""The Gaussian process with the prior covariance of a ReLU network.

Under a Gaussian prior over its weights, a network with one hidden layer is a sum of independent
units. As its width grows, it converges to a Gaussian process (Neal, *Bayesian Learning for Neural
Networks*, 1996) with the covariance of the network's outputs, which is the same at any width. Cho
& Saul, "Kernel Methods for Deep Learning", NIPS 2009, give it in closed form. For a unit whose
weights and bias have variance v, with `x' = (x, 1)` and t the angle between two such vectors,

    E[relu(a) relu(b)] = v |x'_a| |x'_b| (sin t + (pi - t) cos t) / (2 pi)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GPPosterior:
    """Posterior of a function at M inputs.

    Attributes:
        mean: `[M]`.
        deviation: standard deviation of the function without noise, `[M]`.
    """

    mean: np.ndarray
    deviation: np.ndarray


def covariance(a: np.ndarray, b: np.ndarray, width: int, prior_precision: float) -> np.ndarray:
    """Covariance of a network's outputs under its prior, `[A, B]`.

    Args:
        a: inputs, `[A, D]`.
        b: inputs, `[B, D]`.
        width: number of units in the hidden layer.
        prior_precision: prior precision of all weights and biases.
    """
    first, second = (np.column_stack([x, np.ones(len(x))]) for x in (a, b))
    norms = np.linalg.norm(first, axis=1)[:, None] * np.linalg.norm(second, axis=1)
    cosine = np.clip(first @ second.T / norms, -1, 1)
    angle = np.arccos(cosine)
    product = norms * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi * prior_precision)
    result: np.ndarray = (width * product + 1) / prior_precision
    return result


def exact_posterior(
    inputs: np.ndarray,
    targets: np.ndarray,
    at: np.ndarray,
    width: int,
    prior_precision: float,
    noise_precision: float,
) -> GPPosterior:
    """Gaussian process regression with `covariance`, in standardised units.

    Args:
        inputs: training inputs, `[N, D]`.
        targets: training targets, `[N]`.
        at: test inputs, `[M, D]`.
        width: as for `covariance`.
        prior_precision: as for `covariance`.
        noise_precision: noise precision of the targets.
    """
    from scipy.linalg import cho_factor, cho_solve

    prior_covariance = covariance(inputs, inputs, width, prior_precision)
    factor = cho_factor(prior_covariance + np.eye(len(inputs)) / noise_precision, lower=True)
    cross = covariance(at, inputs, width, prior_precision)
    norms = (at**2).sum(1) + 1  # the angle is zero
    prior = (width * norms / (2 * prior_precision) + 1) / prior_precision
    explained = (cross * cho_solve(factor, cross.T).T).sum(1)
    return GPPosterior(
        cross @ cho_solve(factor, targets), np.sqrt(np.clip(prior - explained, 0, None))
    )
