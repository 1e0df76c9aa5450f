"""Gradient ascent on an ELBO with each estimator.

All estimators use the same samples of z. The baseline of the control variate is estimated from the
samples of the previous step, so that the gradient estimate remains unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    estimates,
    weighted_baseline,
)
from bnnbench.suites.inference_toys.gradient_variance.names import CONTROL_VARIATE
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    LinearModel,
    Normal,
    Values,
    kl,
)


@dataclass(frozen=True)
class AscentSettings:
    """Settings of gradient ascent.

    Attributes:
        steps: number of Adam steps.
        samples: samples of z per step.
        learning_rate: learning rate of Adam.
    """

    steps: int
    samples: int
    learning_rate: float


def gradient_ascent(
    name: str,
    model: LinearModel,
    ascent: AscentSettings,
    random: np.random.Generator,
    repetitions: int,
) -> Values:
    """Return `KL(q || posterior)` in nats before and after each step, starting at the prior.

    Args:
        name: the estimator.
        model: the model.
        ascent: the settings.
        random: generator of the noise, the only difference between repetitions.
        repetitions: number of repetitions.

    Returns:
        Divergences, `[repetitions, steps + 1]`.
    """
    objective, posterior = model.elbo(), model.posterior
    start = torch.tensor([model.prior.loc, np.log(model.prior.scale)], dtype=torch.float64)
    parameters = torch.nn.Parameter(start.repeat(repetitions, 1))
    adam = torch.optim.Adam([parameters], lr=ascent.learning_rate, maximize=True)
    weights = np.full(ascent.samples, 1 / ascent.samples)
    baseline: Values = np.zeros((repetitions, 2))
    divergences = []
    for step in range(ascent.steps + 1):
        loc, log_scale = np.hsplit(parameters.detach().numpy(), 2)
        q = Normal(loc, np.exp(log_scale))
        divergences.append(kl(q, posterior))
        if step == ascent.steps:
            break
        noise = random.standard_normal((repetitions, ascent.samples))
        gradients = estimates(name, objective, q, noise, baseline[:, None])
        if name == CONTROL_VARIATE:
            baseline = weighted_baseline(objective, q, noise, weights)
        parameters.grad = torch.from_numpy(gradients.mean(1))
        adam.step()
    return np.concatenate(divergences, axis=1)
