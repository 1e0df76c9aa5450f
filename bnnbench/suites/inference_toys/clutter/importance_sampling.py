"""Importance sampling of the clutter posterior, with the prior as proposal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import logsumexp

from bnnbench.suites.inference_toys.clutter.model import ClutterModel
from bnnbench.suites.inference_toys.clutter.progress import Progress


def importance_sampling(
    model: ClutterModel, draws: Sequence[int], randoms: Iterable[np.random.Generator]
) -> tuple[Progress, np.ndarray]:
    """Estimate the posterior from increasing numbers of draws, in L repetitions.

    Args:
        model: the clutter model with its observations.
        draws: `[K]`, increasing numbers of draws; the larger samples contain the smaller ones.
        randoms: one generator per repetition.

    Returns:
        The estimates, and the effective sample sizes `(sum w) ** 2 / sum w ** 2`, `[K, L]`.
    """
    estimates = np.stack([_estimate(model, draws, random) for random in randoms], axis=2)
    work = len(model.observations) * np.asarray(draws)
    return Progress(work, *estimates[:3]), estimates[3]


def _estimate(model: ClutterModel, draws: Sequence[int], random: np.random.Generator) -> np.ndarray:
    """Return mean, standard deviation, log evidence and effective sample size, `[4, K]`."""
    theta = np.sqrt(model.prior_variance) * random.standard_normal(draws[-1])
    log_weights = model.log_factors(theta[:, None]).sum(1)
    rows = []
    for count in draws:
        log_sum = logsumexp(log_weights[:count])
        weights, values = np.exp(log_weights[:count] - log_sum), theta[:count]
        mean = weights @ values
        scale = np.sqrt(weights @ (values - mean) ** 2)
        rows.append((mean, scale, log_sum - np.log(count), 1 / (weights @ weights)))
    return np.array(rows).T
