"""Variational inference that needs only the log joint density of the model, section 3.2.4.

The score-function estimator (3.77) needs its values; the pathwise estimator (3.78) also needs its
gradient, by automatic differentiation. Both use Adam with step sizes that decrease to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, Gamma, Normal

from bnnbench.optim import adam
from bnnbench.suites.inference_toys.noise_precision.model import (
    Belief,
    LinearModel,
    LogNormal,
    log_joint,
)

Q = TypeVar("Q")

BETAS = (0.9, 0.999)
"""Coefficients of Adam."""

RECORD_INTERVAL = 20
"""Steps between two records of the approximation."""


@dataclass(frozen=True)
class Budget:
    """Settings of stochastic gradient ascent; the learning rate decreases linearly to zero."""

    steps: int
    samples: int
    learning_rate: float
    seed: int


def gradient_ascent(
    start: list[float],
    surrogate: Callable[[Tensor], Tensor],
    approximation: Callable[[Tensor], Q],
    budget: Budget,
) -> dict[int, Q]:
    """Maximise the ELBO with stochastic gradients; returns approximations by step.

    The surrogate draws samples and returns a function whose gradient is the estimate.
    """
    parameters = torch.tensor(start, dtype=torch.float64, device="cpu")
    first, second = torch.zeros_like(parameters), torch.zeros_like(parameters)
    records = {0: approximation(parameters)}
    for step in range(1, budget.steps + 1):
        variable = parameters.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(-surrogate(variable), variable)
        corrections = torch.tensor(
            [1 / (1 - beta**step) for beta in BETAS], dtype=torch.float64, device="cpu"
        )
        moments = (first, second, (corrections[0], corrections[1]))
        rate = budget.learning_rate * (1 - (step - 1) / budget.steps)
        parameters, first, second = adam(parameters, gradient, *moments, rate, BETAS)
        if step % RECORD_INTERVAL == 0 or step == budget.steps:
            records[step] = approximation(parameters)
    return records


def advi(model: LinearModel, budget: Budget, full: bool) -> dict[int, LogNormal]:
    """Run automatic differentiation variational inference, section 3.2.4.3.

    The noise precision is mapped to the real line by its logarithm, whose density includes
    `log gamma` for the change of variables; a Gaussian is fitted there with pathwise gradients. Its
    covariance is diagonal (a mean field) unless `full`; the start has the moments of the prior.
    """
    prior, random = model.prior, np.random.default_rng(budget.seed)
    means = [np.log(prior.mean), prior.weight_mean]
    log_scales = [-0.5 * np.log(prior.shape), 0.5 * np.log(prior.variance)]

    def surrogate(parameters: Tensor) -> Tensor:
        first, second, log_first, log_second, slope = parameters
        noise = torch.from_numpy(random.standard_normal((2, budget.samples)))
        log_precision = first + log_first.exp() * noise[0]
        weight = second + log_second.exp() * (slope * full * noise[0] + noise[1])
        joint: Tensor = log_joint(model, log_precision, log_precision.exp(), weight) + log_precision
        bound: Tensor = joint.mean() + log_first + log_second  # the entropy up to a constant
        return bound

    def approximation(parameters: Tensor) -> LogNormal:
        first, second = parameters[2:4].exp().tolist()
        factor = np.array([[first, 0.0], [second * float(parameters[4]) * full, second]])
        return LogNormal(parameters[:2].numpy().copy(), factor @ factor.T)

    return gradient_ascent([*means, *log_scales, 0.0], surrogate, approximation, budget)


def black_box_vi(model: LinearModel, budget: Budget) -> dict[int, Belief]:
    """Run black-box variational inference with the score function (3.77), section 3.2.4.1.

    The family is that of coordinate ascent, a Gamma times a Gaussian, so the optimum is the same.
    Each sample's weight in the gradient is its `log p - log q` minus the mean of that of the other
    samples, which keeps the estimator unbiased and reduces its variance. According to the section,
    (3.77) is biased because of its logarithms; it is not, because the score has mean zero. The
    start is the prior.
    """
    prior, random = model.prior, np.random.default_rng(budget.seed)
    scales = (np.log(prior.mean), np.log(prior.shape), 0.5 * np.log(prior.variance))

    def approximation(parameters: Tensor) -> Belief:
        log_mean, log_shape, weight_mean, log_scale = parameters.detach().tolist()
        shape, rate = np.exp(log_shape), np.exp(log_shape - log_mean)
        return Belief(float(shape), float(rate), weight_mean, float(np.exp(2 * log_scale)))

    def surrogate(parameters: Tensor) -> Tensor:
        q, (log_mean, log_shape, weight_mean, log_scale) = approximation(parameters), parameters
        precision = torch.from_numpy(random.gamma(q.shape, 1 / q.rate, budget.samples))
        weight = torch.from_numpy(random.normal(q.weight_mean, q.weight_std, budget.samples))
        q_precision: Distribution = Gamma(log_shape.exp(), (log_shape - log_mean).exp())
        q_weight: Distribution = Normal(weight_mean, log_scale.exp())
        log_q = q_precision.log_prob(precision) + q_weight.log_prob(weight)
        gain: Tensor = log_joint(model, precision.log(), precision, weight) - log_q.detach()
        others = (gain.sum() - gain) / (budget.samples - 1)
        return ((gain - others) * log_q).mean()

    start = [*scales[:2], prior.weight_mean, scales[2]]
    return gradient_ascent(start, surrogate, approximation, budget)
