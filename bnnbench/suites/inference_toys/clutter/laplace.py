"""The Laplace approximation of the clutter posterior: a Gaussian at its mode."""

from __future__ import annotations

import numpy as np

from bnnbench.suites.inference_toys.clutter.model import SIGNAL_VARIANCE, ClutterModel
from bnnbench.suites.inference_toys.clutter.progress import Progress
from bnnbench.suites.inference_toys.clutter.variational import (
    gaussian_given_responsibilities,
    prior_responsibilities,
)


def laplace(model: ClutterModel, steps: int, tolerance: float) -> Progress:
    """Return the Laplace approximation at each EM iterate towards a mode.

    Standard deviation and log evidence are NaN where the log posterior is not concave.

    Args:
        model: the clutter model with its observations.
        steps: maximum number of EM steps.
        tolerance: stop when the mode moves by at most this.
    """
    responsibilities, states = prior_responsibilities(model), []
    for _ in range(steps):
        mode = gaussian_given_responsibilities(model, responsibilities)[0]
        log_factors = model.log_factors(np.array(mode))
        responsibilities = np.exp(model.log_signal(np.array(mode)) - log_factors)
        residuals = (model.observations - mode) / SIGNAL_VARIANCE
        curvature = (
            responsibilities / SIGNAL_VARIANCE
            - responsibilities * (1 - responsibilities) * residuals**2
        )
        precision = 1 / model.prior_variance + curvature.sum()
        variance = 1 / precision if precision > 0 else np.nan
        log_joint = float(model.log_prior(np.array(mode))) + log_factors.sum()
        log_evidence = log_joint + 0.5 * np.log(2 * np.pi * variance)
        states.append((mode, np.sqrt(variance), log_evidence))
        if len(states) > 1 and abs(states[-1][0] - states[-2][0]) <= tolerance:
            break
    work = len(model.observations) * np.arange(1, len(states) + 1)
    return Progress(work, *np.array(states).T[:, :, None])
