"""Variational inference that needs only the log joint density of the model, section 3.2.4.

The score-function estimator (3.77) needs its values; the pathwise estimator (3.78) also needs its
gradient, by automatic differentiation. Both use Adam with step sizes that decrease to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Gamma, Normal

from bnnbench.optim import adam
from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.log_normal import LogNormal, log_normal_elbo
from bnnbench.suites.inference_toys.noise_precision.model import (
    LinearModel,
    evidence_lower_bound,
    log_joint,
)

Q = TypeVar("Q")

BETAS = (0.9, 0.999)
"""Coefficients of Adam."""

RECORD_INTERVAL = 20
"""Steps between two records of the lower bound."""


@dataclass(frozen=True)
class Budget:
    """Settings of stochastic gradient ascent.

    Attributes:
        steps: number of Adam steps.
        samples: samples per step.
        learning_rate: initial learning rate; decreases linearly to zero.
        seed: seed of the samples.
    """

    steps: int
    samples: int
    learning_rate: float
    seed: int


@dataclass(frozen=True)
class GradientAscentResult(Generic[Q]):
    """The result of stochastic gradient ascent.

    Attributes:
        q: the last approximation.
        steps: steps steps which the bound was recorded.
        bounds: exact lower bounds steps these steps, nats.
        means: means of the noise precision steps these steps.
    """

    q: Q
    steps: tuple[int, ...]
    bounds: tuple[float, ...]
    means: tuple[float, ...]


def gradient_ascent(
    start: list[float],
    surrogate: Callable[[Tensor], Tensor],
    record: Callable[[Tensor], tuple[Q, float, float]],
    budget: Budget,
) -> GradientAscentResult[Q]:
    """Maximise the ELBO with stochastic gradients.

    Args:
        start: initial parameters of the approximation.
        surrogate: draws samples and returns a function whose gradient is the estimate.
        record: returns the approximation, its bound and its mean noise precision.
        budget: settings of the ascent.
    """
    parameters = torch.tensor(start, dtype=torch.float64)
    first, second = torch.zeros_like(parameters), torch.zeros_like(parameters)
    records = [(0, *record(parameters)[1:])]
    for step in range(1, budget.steps + 1):
        variable = parameters.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(-surrogate(variable), variable)
        corrections = torch.tensor([1 / (1 - beta**step) for beta in BETAS], dtype=torch.float64)
        moments = (first, second, (corrections[0], corrections[1]))
        rate = budget.learning_rate * (1 - (step - 1) / budget.steps)
        parameters, first, second = adam(parameters, gradient, *moments, rate, BETAS)
        if step % RECORD_INTERVAL == 0 or step == budget.steps:
            records.append((step, *record(parameters)[1:]))
    steps, bounds, means = zip(*records, strict=True)
    return GradientAscentResult(record(parameters)[0], steps, bounds, means)


def advi(model: LinearModel, budget: Budget, full: bool) -> GradientAscentResult[LogNormal]:
    """Run automatic differentiation variational inference, section 3.2.4.3.

    The noise precision is mapped to the real line by its logarithm, whose density includes
    `log gamma` for the change of variables; a Gaussian is fitted there with pathwise gradients.

    Args:
        model: data and prior, which is the start.
        budget: settings of the ascent.
        full: full covariance instead of a mean field.
    """
    prior, random = model.prior, np.random.default_rng(budget.seed)
    scales = [-0.5 * np.log(prior.shape), 0.5 * np.log(prior.variance)]

    def surrogate(parameters: Tensor) -> Tensor:
        (first, second), (log_first, log_second), slope = (
            parameters[:2],
            parameters[2:4],
            parameters[4] * full,
        )
        noise = torch.from_numpy(random.standard_normal((2, budget.samples)))
        log_precision = first + log_first.exp() * noise[0]
        weight = second + log_second.exp() * (slope * noise[0] + noise[1])
        joint = log_joint(model, log_precision, log_precision.exp(), weight) + log_precision
        return joint.mean() + log_first + log_second  # the entropy up to a constant

    def record(parameters: Tensor) -> tuple[LogNormal, float, float]:
        first, second = parameters[2:4].exp().tolist()
        factor = np.array([[first, 0.0], [second * float(parameters[4]) * full, second]])
        q = LogNormal(parameters[:2].numpy().copy(), factor @ factor.T)
        return q, log_normal_elbo(model, q), q.mean

    return gradient_ascent([np.log(prior.mean), prior.loc, *scales, 0.0], surrogate, record, budget)


def black_box_vi(model: LinearModel, budget: Budget) -> GradientAscentResult[Belief]:
    """Run black-box variational inference with the score function (3.77), section 3.2.4.1.

    The family is that of coordinate ascent, a Gamma times a Gaussian, so the optimum is the same.
    Each sample's weight in the gradient is its `log p - log q` minus the mean of that of the other
    samples, which keeps the estimator unbiased and reduces its variance. According to the section,
    (3.77) is biased because of its logarithms; it is not, because the score has mean zero.

    Args:
        model: data and prior, which is the start.
        budget: settings of the ascent.
    """
    prior, random = model.prior, np.random.default_rng(budget.seed)
    start = [np.log(prior.mean), np.log(prior.shape), prior.loc, 0.5 * np.log(prior.variance)]

    def belief(parameters: Tensor) -> Belief:
        log_mean, log_shape, loc, log_scale = parameters.detach().tolist()
        shape, rate = np.exp(log_shape), np.exp(log_shape - log_mean)
        return Belief(float(shape), float(rate), loc, float(np.exp(2 * log_scale)))

    def surrogate(parameters: Tensor) -> Tensor:
        current, (log_mean, log_shape, loc, log_scale) = belief(parameters), parameters
        precision = torch.from_numpy(random.gamma(current.shape, 1 / current.rate, budget.samples))
        weight = torch.from_numpy(random.normal(current.loc, current.weight_std, budget.samples))
        log_q = Gamma(log_shape.exp(), (log_shape - log_mean).exp()).log_prob(precision)
        log_q = log_q + Normal(loc, log_scale.exp()).log_prob(weight)
        gain = log_joint(model, precision.log(), precision, weight) - log_q.detach()
        others = (gain.sum() - gain) / (budget.samples - 1)
        return ((gain - others) * log_q).mean()

    def record(parameters: Tensor) -> tuple[Belief, float, float]:
        current = belief(parameters)
        return current, float(evidence_lower_bound(model, current)), current.mean

    return gradient_ascent(start, surrogate, record, budget)
