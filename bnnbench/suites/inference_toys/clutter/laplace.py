"""The Laplace approximation of the clutter posterior: a Gaussian at its mode."""

from __future__ import annotations

import numpy as np

from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, Clutter
from bnnbench.suites.inference_toys.clutter.progress import Progress
from bnnbench.suites.inference_toys.clutter.variational import start, weighted_mean


def laplace(model: Clutter, steps: int, tolerance: float) -> Progress:
    """Climbs to a mode by EM, which never descends, with the curvature at each step's end.

    Deviation and log evidence are NaN where the log posterior does not curve downwards.

    Args:
        model: with its observations.
        steps: at most.
        tolerance: it ends when the mode moves by no more.
    """
    signal, states = start(model), []
    for _ in range(steps):
        mode = weighted_mean(model, signal)[0]
        log_factors = model.log_factors(np.array(mode))
        signal = np.exp(model.log_signal(np.array(mode)) - log_factors)
        off = (model.observations - mode) / SIGNAL_VARIANCE
        curved = signal / SIGNAL_VARIANCE - signal * (1 - signal) * off**2
        precision = 1 / model.prior_variance + curved.sum()
        variance = 1 / precision if precision > 0 else np.nan
        height = float(model.log_prior(np.array(mode))) + log_factors.sum()
        evidence = height + 0.5 * np.log(2 * np.pi * variance)
        states.append((mode, np.sqrt(variance), evidence))
        if len(states) > 1 and abs(states[-1][0] - states[-2][0]) <= tolerance:
            break
    work = len(model.observations) * np.arange(1, len(states) + 1)
    return Progress(work, *np.array(states).T[:, :, None])
