"""Estimates of the gradient of `E_q[f(z)]` with respect to q's parameters, from samples of q.

Book, section 3.2.4.1 and Appendix A.1. For `z = loc + scale e` with standard normal `e`, the
gradients with respect to `loc` and `log scale` are

    score function    f(z) (e / scale, e^2 - 1)            eqs. 3.76, A.1
    control variate   (f(z) - b) (e / scale, e^2 - 1)      the optimal b of each parameter
    pathwise          f'(z) (1, scale e)                   eqs. 3.78, A.3

An ELBO is the expectation of `log p(x, z) - log q(z)` (eq. 3.7). The score function estimator
multiplies all of it by the score (eq. 3.77). The pathwise estimator uses the exact gradient of the
entropy, `(0, 1)`. The path derivative estimator differentiates `log q` along the path of z and
omits its score, whose mean is zero (Roeder, Wu & Duvenaud, "Sticking the Landing", NeurIPS 2017).

The control variate is a multiple b of the score, whose mean is zero (Ranganath, Gerrish & Blei,
"Black Box Variational Inference", AISTATS 2014). The variance is smallest for
`b = E[f score^2] / E[score^2]`.
"""

from __future__ import annotations

import math

import numpy as np

from bnnbench.suites.inference_toys.gradient_variance.names import (
    CONTROL_VARIATE,
    ESTIMATORS,
    PATH_DERIVATIVE,
    PATHWISE,
    SCORE,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    HALF_LOG_TWO_PI,
    Normal,
    Objective,
    Quadratic,
    Values,
)

N_NODES = 240
"""Nodes of the Gauss-Hermite rule; accurate for polynomials and for cosines up to frequency 50."""


def estimators_for(objective: Objective) -> tuple[str, ...]:
    """Return the estimators that differ on this objective; path derivatives need an entropy."""
    return ESTIMATORS if objective.entropy else ESTIMATORS[:-1]


def estimates(
    name: str, objective: Objective, q: Normal, noise: Values, baseline: Values | float = 0.0
) -> Values:
    """Return one estimate of the gradient per sample.

    Args:
        name: one of `ESTIMATORS`.
        objective: the function.
        q: the distribution at which to differentiate.
        noise: `e`, of any shape `[...]`.
        baseline: `b` of each parameter, broadcast against the result; used only with a control
            variate.

    Returns:
        Gradients with respect to `loc` and `log scale`, `[..., 2]`.
    """
    z = q.loc + q.scale * noise
    if name in (SCORE, CONTROL_VARIATE):
        weights = integrand(objective, q, noise)[..., None]
        return (weights - (baseline if name == CONTROL_VARIATE else 0.0)) * score(q, noise)
    slopes = objective.derivative(z)
    if name == PATH_DERIVATIVE:
        slopes = slopes + noise / q.scale
    entropy_gradient = [0.0, float(objective.entropy and name == PATHWISE)]
    return (
        slopes[..., None] * np.stack([np.ones_like(noise), q.scale * noise], -1) + entropy_gradient
    )


def integrand(objective: Objective, q: Normal, noise: Values) -> Values:
    """Return the objective, plus `-log q` if it includes an entropy."""
    values = objective.value(q.loc + q.scale * noise)
    if objective.entropy:
        values = values + 0.5 * noise**2 + np.log(q.scale) + HALF_LOG_TWO_PI
    return np.asarray(values)


def score(q: Normal, noise: Values) -> Values:
    """Return the gradient of `log q(z)`, `[..., 2]`; its mean is zero."""
    return np.stack([noise / q.scale, noise**2 - 1], -1)


def weighted_baseline(objective: Objective, q: Normal, noise: Values, weights: Values) -> Values:
    """Return the optimal baseline `[..., 2]` for samples `[..., S]` with weights `[S]`."""
    squares = score(q, noise) ** 2 * weights[:, None]
    weighted = integrand(objective, q, noise)[..., None] * squares
    return np.asarray(weighted.sum(-2) / squares.sum(-2))


def optimal_baseline(objective: Objective, q: Normal) -> Values:
    """Return the optimal baseline `[2]` by quadrature."""
    return weighted_baseline(objective, q, *quadrature_nodes())


def quadrature_nodes() -> tuple[Values, Values]:
    """Return Gauss-Hermite nodes and weights for expectations under the standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(N_NODES)
    return nodes, weights / weights.sum()


def exact_moments(name: str, objective: Objective, q: Normal) -> tuple[Values, Values]:
    """Return mean and variance `[2]` of one estimate by quadrature."""
    noise, weights = quadrature_nodes()
    gradients = estimates(name, objective, q, noise, optimal_baseline(objective, q))
    mean = weights @ gradients
    return mean, weights @ (gradients - mean) ** 2


def quadratic_variance(name: str, objective: Quadratic, q: Normal) -> Values:
    """Return the variance `[2]` of one estimate in closed form.

    With `f = c0 + c1 e + c2 e^2` and the moments 1, 3, 15 and 105 of `e`:

        score function    (c0^2 + 2 c1^2 + 15 c2^2 + 6 c0 c2) / scale^2
                          2 c0^2 + 10 c1^2 + 74 c2^2 + 20 c0 c2
        control variate   (2 c1^2 + 6 c2^2) / scale^2,    10 c1^2 + 24 c2^2
        pathwise          4 c2^2 / scale^2,               c1^2 + 8 c2^2

    If the estimate includes `-log q`, this adds `log scale + log(2 pi) / 2` to `c0` and `1 / 2` to
    `c2`.
    """
    c0, c1, c2 = objective.coefficients(q)
    if objective.entropy and name != PATHWISE:
        c0, c2 = c0 + math.log(q.scale) + HALF_LOG_TWO_PI, c2 + 0.5
    if name == SCORE:
        loc_variance = c0**2 + 2 * c1**2 + 15 * c2**2 + 6 * c0 * c2
        scale_variance = 2 * c0**2 + 10 * c1**2 + 74 * c2**2 + 20 * c0 * c2
    elif name == CONTROL_VARIATE:
        loc_variance, scale_variance = 2 * c1**2 + 6 * c2**2, 10 * c1**2 + 24 * c2**2
    else:
        loc_variance, scale_variance = 4 * c2**2, c1**2 + 8 * c2**2
    return np.array([loc_variance / q.scale**2, scale_variance])
