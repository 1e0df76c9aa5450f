"""Bias of eq. 3.77 as an estimate of the gradient of the ELBO, with and without minibatches.

The book claims that "gradient estimates in Eq. (3.77) are not unbiased due to the presence of the
log function" (section 3.2.4.1). They are unbiased: eq. 3.77 is eq. 3.76 with
`f = log p(x, z) - log q(z)`, and the gradient of f with respect to q's parameters is minus the
score, of mean zero. A minibatch enters the log joint as a sum, so scaling it by `N / B` leaves the
mean unchanged. A logarithm causes bias only when applied to an estimate, which is not the case.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bnnbench.suites.inference_toys.gradient_variance.estimators import estimates, quadrature_nodes
from bnnbench.suites.inference_toys.gradient_variance.objectives import LinearModel, Normal, Values

MAX_MINIBATCHES = 20_000
"""Maximum number of enumerated minibatches; each needs a quadrature."""


def mean_over_minibatches(name: str, model: LinearModel, q: Normal, size: int) -> Values:
    """Return the mean `[2]` of the estimate over all minibatches, and over z by quadrature."""
    noise, weights = quadrature_nodes()
    rows = np.array(list(combinations(range(len(model.targets)), size)))
    gradients = estimates(name, model.elbo(rows[:, None]), q, np.tile(noise, (len(rows), 1)))
    return np.asarray(weights @ gradients.mean(0))


def minibatch_estimates(
    name: str, model: LinearModel, q: Normal, size: int, count: int, random: np.random.Generator
) -> Values:
    """Return estimates `[count, 2]`, each from one sample of z and one random minibatch."""
    rows = random.random((count, len(model.targets))).argsort(1)[:, :size]
    return estimates(name, model.elbo(rows), q, random.standard_normal(count))
