"""Gradient ascent on an ELBO with each estimator.

All estimators use the same samples of z. The baseline of the control variate is estimated from the
samples of the previous step, so that the gradient estimate remains unbiased.
"""

from __future__ import annotations

import numpy as np
import torch

from bnnbench.suites.inference_toys.gradient_variance import estimators
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    LinearModel,
    Normal,
    Values,
    kl,
)


def gradient_ascent(
    name: str,
    model: LinearModel,
    random: np.random.Generator,
    shape: tuple[int, int, int],
    learning_rate: float,
) -> Values:
    """Return `KL(q || posterior)` in nats before and after each step of Adam, from the prior.

    Args:
        name: the estimator.
        model: the model.
        random: generator of the noise, the only difference between repetitions.
        shape: numbers of steps T, of repetitions R, and of samples of z per step.
        learning_rate: of Adam.

    Returns:
        Divergences, `[R, T + 1]`.
    """
    objective, posterior = model.elbo(), model.posterior
    steps, repetitions, samples = shape
    start = torch.tensor([model.prior.loc, np.log(model.prior.scale)], dtype=torch.float64)
    parameters = torch.nn.Parameter(start.repeat(repetitions, 1))
    adam = torch.optim.Adam([parameters], lr=learning_rate, maximize=True)

    def current() -> Normal:
        loc, log_scale = np.hsplit(parameters.detach().numpy(), 2)
        return Normal(loc, np.exp(log_scale))

    baseline: Values = np.zeros((repetitions, 2))
    divergences = [kl(current(), posterior)]
    for _ in range(steps):
        q, noise = current(), random.standard_normal((repetitions, samples))
        gradients = estimators.estimates(name, objective, q, noise, baseline[:, None])
        baseline = estimators.optimal_baseline(objective, q, noise, np.full(samples, 1 / samples))
        parameters.grad = torch.from_numpy(gradients.mean(1))
        adam.step()
        divergences.append(kl(current(), posterior))
    return np.concatenate(divergences, axis=1)
