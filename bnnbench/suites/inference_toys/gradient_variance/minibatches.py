"""Whether eq. 3.77 estimates the gradient of the ELBO without bias, also from minibatches.

The book says of it that "gradient estimates in Eq. (3.77) are not unbiased due to the presence of
the log function" (section 3.2.4.1). They are unbiased: eq. 3.77 is eq. 3.76 with
`f = log p(x, z) - log q(z)`, whose own gradient by q's parameters is the score, of mean zero. A
minibatch enters the log joint as a sum, before any nonlinear function, so its scaling by
`N / B` leaves the mean as it is. A logarithm biases where it is taken of an estimate, which it is
not here.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from bnnbench.suites.inference_toys.gradient_variance.estimators import estimates, nodes
from bnnbench.suites.inference_toys.gradient_variance.objectives import Normal, OneWeight, Values

MOST_BATCHES = 20_000
"""That are enumerated; each takes a quadrature."""


def enumerated_mean(name: str, line: OneWeight, q: Normal, size: int) -> Values:
    """The mean `[2]` of the estimate over every minibatch, and over z by quadrature."""
    noise, weights = nodes()
    rows = np.array(list(combinations(range(len(line.targets)), size)))
    found = estimates(name, line.elbo(rows[:, None]), q, np.tile(noise, (len(rows), 1)))
    return np.asarray(weights @ found.mean(0))


def drawn_estimates(
    name: str, line: OneWeight, q: Normal, size: int, count: int, random: np.random.Generator
) -> Values:
    """Estimates `[count, 2]`, each from one draw of z and a minibatch of its own."""
    rows = random.random((count, len(line.targets))).argsort(1)[:, :size]
    return estimates(name, line.elbo(rows), q, random.standard_normal(count))
