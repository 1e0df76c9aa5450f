"""Importance sampling of the clutter posterior, with the prior as proposal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy.special import logsumexp

from bnnbench.suites.inference_toys.clutter.model import Clutter
from bnnbench.suites.inference_toys.clutter.progress import Progress


def importance_sampling(
    model: Clutter, draws: Sequence[int], randoms: Iterable[np.random.Generator]
) -> tuple[Progress, np.ndarray]:
    """Estimates from the first draws of each of L sequences.

    Args:
        model: with its observations.
        draws: `[K]`, how many count, rising.
        randoms: one generator per sequence.

    Returns:
        The estimates, and `[K, L]` the effective sample sizes, `(sum w) ** 2 / sum w ** 2`.
    """
    found = np.stack([_estimates(model, draws, random) for random in randoms], axis=2)
    work = len(model.observations) * np.asarray(draws)
    return Progress(work, *found[:3]), found[3]


def _estimates(model: Clutter, draws: Sequence[int], random: np.random.Generator) -> np.ndarray:
    """Mean, deviation, log evidence and effective sample size of one sequence, `[4, K]`."""
    theta = np.sqrt(model.prior_variance) * random.standard_normal(draws[-1])
    log_weights = model.log_factors(theta[:, None]).sum(1)
    rows = []
    for count in draws:
        own, values = log_weights[:count], theta[:count]
        log_sum = logsumexp(own)
        share = np.exp(own - log_sum)
        mean = share @ values
        scale = np.sqrt(share @ (values - mean) ** 2)
        rows.append((mean, scale, log_sum - np.log(count), 1 / (share @ share)))
    return np.array(rows).T
