"""Gradient ascent on an ELBO with each estimator, from the same draws.

Every estimator gets as many draws of z in a step as the others, and the same ones. The control
variate's baseline is made of the draws of the step before, so that the estimate stays unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from bnnbench.suites.inference_toys.gradient_variance.estimators import (
    baseline_of,
    estimates,
)
from bnnbench.suites.inference_toys.gradient_variance.objectives import (
    Normal,
    OneWeight,
    Values,
    kl,
)
from bnnbench.suites.inference_toys.gradient_variance.tables import CONTROLLED


@dataclass(frozen=True)
class Ascent:
    """How the ELBO is climbed.

    Attributes:
        steps: of Adam.
        samples: draws of z in a step.
        learning_rate: of Adam.
    """

    steps: int
    samples: int
    learning_rate: float


def climb(
    name: str, line: OneWeight, ascent: Ascent, random: np.random.Generator, repetitions: int
) -> Values:
    """`KL(q || posterior)` in nats, `[repetitions, steps + 1]`, from the prior on.

    Args:
        name: of the estimator.
        line: the model.
        ascent: how.
        random: draws the noise of all repetitions, which is their only difference.
        repetitions: that go side by side.
    """
    objective, posterior = line.elbo(), line.posterior
    start = torch.tensor([line.prior.loc, np.log(line.prior.scale)], dtype=torch.float64)
    place = torch.nn.Parameter(start.repeat(repetitions, 1))
    adam = torch.optim.Adam([place], lr=ascent.learning_rate, maximize=True)
    weights = np.full(ascent.samples, 1 / ascent.samples)
    baseline: Values = np.zeros((repetitions, 2))
    distances = []
    for step in range(ascent.steps + 1):
        loc, log_scale = np.hsplit(place.detach().numpy(), 2)
        q = Normal(loc, np.exp(log_scale))
        distances.append(kl(q, posterior))
        if step == ascent.steps:
            break
        noise = random.standard_normal((repetitions, ascent.samples))
        found = estimates(name, objective, q, noise, baseline[:, None])
        if name == CONTROLLED:
            baseline = baseline_of(objective, q, noise, weights)
        place.grad = torch.from_numpy(found.mean(1))
        adam.step()
    return np.concatenate(distances, axis=1)
