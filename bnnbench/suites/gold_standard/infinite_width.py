"""The Gaussian process with the covariance of a ReLU network under its prior.

A network of one hidden layer is, under a Gaussian prior over its weights, a sum of independent
units: with more of them it comes ever closer to a Gaussian process (Neal, *Bayesian Learning for
Neural Networks*, 1996), whose covariance is that of the network's outputs at every width. Cho &
Saul, "Kernel Methods for Deep Learning", NIPS 2009, have it in closed form: for a unit whose
weights and bias have the variance v, with `x' = (x, 1)` and the angle t between two of these,

    E[relu(a) relu(b)] = v |x'_a| |x'_b| (sin t + (pi - t) cos t) / (2 pi)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Exact:
    """A posterior of a function at M inputs.

    Attributes:
        mean: `[M]`.
        deviation: of the function, without noise, `[M]`.
    """

    mean: np.ndarray
    deviation: np.ndarray


def covariance(a: np.ndarray, b: np.ndarray, width: int, prior_precision: float) -> np.ndarray:
    """Of a network's outputs under its prior, `[A, B]`.

    Args:
        a: inputs, `[A, D]`.
        b: likewise, `[B, D]`.
        width: units of the one hidden layer.
        prior_precision: of all weights and biases.
    """
    first, second = (np.column_stack([x, np.ones(len(x))]) for x in (a, b))
    norms = np.linalg.norm(first, axis=1)[:, None] * np.linalg.norm(second, axis=1)
    cosine = np.clip(first @ second.T / norms, -1, 1)
    angle = np.arccos(cosine)
    product = norms * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi * prior_precision)
    found: np.ndarray = (width * product + 1) / prior_precision
    return found


def exact_posterior(
    inputs: np.ndarray,
    targets: np.ndarray,
    at: np.ndarray,
    width: int,
    prior_precision: float,
    noise_precision: float,
) -> Exact:
    """By regression with that process, everything in standardised units.

    Args:
        inputs: of the training part, `[N, D]`.
        targets: `[N]`.
        at: where the function is asked for, `[M, D]`.
        width: as for `covariance`.
        prior_precision: likewise.
        noise_precision: of the targets.
    """
    from scipy.linalg import cho_factor, cho_solve

    own = covariance(inputs, inputs, width, prior_precision)
    factor = cho_factor(own + np.eye(len(inputs)) / noise_precision, lower=True)
    cross = covariance(at, inputs, width, prior_precision)
    norms = (at**2).sum(1) + 1  # at an angle of zero
    prior = (width * norms / (2 * prior_precision) + 1) / prior_precision
    explained = (cross * cho_solve(factor, cross.T).T).sum(1)
    return Exact(cross @ cho_solve(factor, targets), np.sqrt(np.clip(prior - explained, 0, None)))
