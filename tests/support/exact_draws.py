"""Exact draws from the posterior of the sprinkler."""

from __future__ import annotations

import numpy as np

from bnnbench.suites.lam_density_ratio import sprinkler


def max_log_likelihood(x: float) -> float:
    """Return the maximum of `log p(x|z)` over z, where the mean is nearest to x."""
    mean = max(x, sprinkler.BASE_MEAN)
    return float(-np.log(mean) - x / mean)


def posterior_samples(x: float, size: int, random: np.random.Generator) -> np.ndarray:
    """Return exact draws from `p(z|x)`, `[size, 2]`, by rejection sampling from the prior.

    A draw is accepted with probability `p(x|z)` over its maximum. Among the thesis's observations
    50 has the lowest acceptance rate, about 9 %.
    """
    bound, draws, missing = max_log_likelihood(x), [], size
    while missing > 0:
        z = np.sqrt(sprinkler.PRIOR_VARIANCE) * random.standard_normal((max(4 * missing, 256), 2))
        accepted = z[np.log(random.random(len(z))) < sprinkler.log_likelihood(x, z) - bound][
            :missing
        ]
        draws.append(accepted)
        missing -= len(accepted)
    return np.concatenate(draws)
