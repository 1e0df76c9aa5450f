"""Estimates of the gradient of `E_q[f(z)]` by q's parameters, from draws of q.

Book, section 3.2.4.1 and Appendix A.1. For `z = loc + scale e` with standard normal `e`, by `loc`
and `log scale`:

    score function    f(z) (e / scale, e^2 - 1)            eqs. 3.76, A.1
    control variate   (f(z) - b) (e / scale, e^2 - 1)      the best b of each parameter
    pathwise          f'(z) (1, scale e)                   eqs. 3.78, A.3

An ELBO is the expectation of `log p(x, z) - log q(z)` (eq. 3.7). The score function estimator
weighs the score with all of it (eq. 3.77). The pathwise one takes the entropy's gradient, which is
known: `(0, 1)`. Its variant differentiates `log q` along the path of z and leaves out its score,
whose mean is zero (Roeder, Wu & Duvenaud, "Sticking the Landing", NeurIPS 2017).

The control variate is a multiple b of the score, whose mean is zero (Ranganath, Gerrish & Blei,
"Black Box Variational Inference", AISTATS 2014). The least variance has
`b = E[f score^2] / E[score^2]`.
"""

from __future__ import annotations

import math

import numpy as np

from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    HALF_LOG_TWO_PI,
    Normal,
    Objective,
    Quadratic,
    Values,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    CONTROLLED,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
)

NODES = 240
"""Of the Gauss-Hermite rule: exact for polynomials, and for waves of some hundred periods."""


def estimators_of(objective: Objective) -> tuple[str, ...]:
    """Those that differ on it: without `log q` there are no two ways to differentiate it."""
    return ESTIMATORS if objective.entropy else ESTIMATORS[:-1]


def estimates(
    name: str, objective: Objective, q: Normal, noise: Values, baseline: Values | float = 0.0
) -> Values:
    """One estimate of the gradient per draw.

    Args:
        name: one of `ESTIMATORS`.
        objective: the function.
        q: where the gradient is taken.
        noise: `e`, of any shape `[...]`.
        baseline: `b` of each parameter, `[2]` or what broadcasts against the result; only the
            control variate reads it.

    Returns:
        `[..., 2]`, by `loc` and `log scale`.
    """
    z = q.loc + q.scale * noise
    if name in (SCORE, CONTROLLED):
        weights = sampled(objective, q, noise)[..., None]
        return (weights - (baseline if name == CONTROLLED else 0.0)) * score(q, noise)
    slopes = objective.derivative(z)
    if name == PATH_DERIVATIVE:
        slopes = slopes + noise / q.scale
    known = [0.0, float(objective.entropy and name == PATHWISE)]
    return slopes[..., None] * np.stack([np.ones_like(noise), q.scale * noise], -1) + known


def sampled(objective: Objective, q: Normal, noise: Values) -> Values:
    """What the expectation is over: the function, with `-log q` where an entropy is added."""
    values = objective.value(q.loc + q.scale * noise)
    if objective.entropy:
        values = values + 0.5 * noise**2 + np.log(q.scale) + HALF_LOG_TWO_PI
    return np.asarray(values)


def score(q: Normal, noise: Values) -> Values:
    """The gradient of `log q(z)`, `[..., 2]`; its mean is zero."""
    return np.stack([noise / q.scale, noise**2 - 1], -1)


def baseline_of(objective: Objective, q: Normal, noise: Values, weights: Values) -> Values:
    """The best baseline `[..., 2]` for draws `[..., S]`, with weights `[S]` that sum to 1."""
    squares = score(q, noise) ** 2 * weights[:, None]
    weighted = sampled(objective, q, noise)[..., None] * squares
    return np.asarray(weighted.sum(-2) / squares.sum(-2))


def best_baseline(objective: Objective, q: Normal) -> Values:
    """The best baseline `[2]` by quadrature."""
    return baseline_of(objective, q, *nodes())


def nodes() -> tuple[Values, Values]:
    """Of a Gauss-Hermite rule for the standard normal distribution, and weights that sum to 1."""
    places, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return places, weights / weights.sum()


def exact_moments(name: str, objective: Objective, q: Normal) -> tuple[Values, Values]:
    """Mean and variance `[2]` of one estimate, by quadrature."""
    noise, weights = nodes()
    found = estimates(name, objective, q, noise, best_baseline(objective, q))
    mean = weights @ found
    return mean, weights @ (found - mean) ** 2


def quadratic_variance(name: str, objective: Quadratic, q: Normal) -> Values:
    """The variance `[2]` of one estimate in closed form.

    With `f = c0 + c1 e + c2 e^2` and the moments 1, 3, 15 and 105 of `e`:

        score function    (c0^2 + 2 c1^2 + 15 c2^2 + 6 c0 c2) / scale^2
                          2 c0^2 + 10 c1^2 + 74 c2^2 + 20 c0 c2
        control variate   (2 c1^2 + 6 c2^2) / scale^2,    10 c1^2 + 24 c2^2
        pathwise          4 c2^2 / scale^2,               c1^2 + 8 c2^2

    Where `-log q` is sampled with `f`, it adds `log scale + log(2 pi) / 2` to `c0` and `1 / 2` to
    `c2`.
    """
    c0, c1, c2 = objective.around(q)
    if objective.entropy and name != PATHWISE:
        c0, c2 = c0 + math.log(q.scale) + HALF_LOG_TWO_PI, c2 + 0.5
    if name == SCORE:
        by_loc = c0**2 + 2 * c1**2 + 15 * c2**2 + 6 * c0 * c2
        by_scale = 2 * c0**2 + 10 * c1**2 + 74 * c2**2 + 20 * c0 * c2
    elif name == CONTROLLED:
        by_loc, by_scale = 2 * c1**2 + 6 * c2**2, 10 * c1**2 + 24 * c2**2
    else:
        by_loc, by_scale = 4 * c2**2, c1**2 + 8 * c2**2
    return np.array([by_loc / q.scale**2, by_scale])
