"""Variational inference that asks the model for nothing but its log joint density: section 3.2.4.

The score-function estimator (3.77) needs its values, the pathwise one (3.78) its gradient too,
which autograd brings. Both climb by Adam, whose steps shrink to nothing so that noise averages out.
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
from bnnbench.suites.inference_toys.noise_precision.log_normal import LogNormal, log_normal_bound
from bnnbench.suites.inference_toys.noise_precision.model import (
    Line,
    evidence_lower_bound,
    log_joint,
)

Q = TypeVar("Q")

BETAS = (0.9, 0.999)
"""Of Adam."""

EVERY = 20
"""Steps between two records of the lower bound."""


@dataclass(frozen=True)
class Budget:
    """How long stochastic gradients climb.

    Attributes:
        steps: of Adam.
        samples: per step.
        learning_rate: of the first step; falls linearly to nothing.
        seed: of the samples.
    """

    steps: int
    samples: int
    learning_rate: float
    seed: int


@dataclass(frozen=True)
class Climb(Generic[Q]):
    """Where stochastic gradients ended, and their way.

    Attributes:
        q: the last approximation.
        steps: at which the bound was recorded.
        bounds: the exact lower bound of the approximation at these steps, nats.
        means: of the noise precision at these steps.
    """

    q: Q
    steps: tuple[int, ...]
    bounds: tuple[float, ...]
    means: tuple[float, ...]


def climb(
    begin: list[float],
    surrogate: Callable[[Tensor], Tensor],
    record: Callable[[Tensor], tuple[Q, float, float]],
    budget: Budget,
) -> Climb[Q]:
    """Follows noisy gradients upwards.

    Args:
        begin: parameters of the approximation to start from.
        surrogate: draws samples and returns what has the estimator as its gradient.
        record: the approximation of some parameters, its bound and its mean noise precision.
        budget: of the climb.
    """
    free = torch.tensor(begin, dtype=torch.float64)
    first, second = torch.zeros_like(free), torch.zeros_like(free)
    way = [(0, *record(free)[1:])]
    for step in range(1, budget.steps + 1):
        leaf = free.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(-surrogate(leaf), leaf)
        unbias = torch.tensor([1 / (1 - beta**step) for beta in BETAS], dtype=torch.float64)
        moments = (first, second, (unbias[0], unbias[1]))
        rate = budget.learning_rate * (1 - (step - 1) / budget.steps)
        free, first, second = adam(free, gradient, *moments, rate, BETAS)
        if step % EVERY == 0 or step == budget.steps:
            way.append((step, *record(free)[1:]))
    at, bounds, means = zip(*way, strict=True)
    return Climb(record(free)[0], at, bounds, means)


def advi(line: Line, budget: Budget, full: bool) -> Climb[LogNormal]:
    """Automatic differentiation variational inference, section 3.2.4.3.

    The noise precision goes to the whole line by its logarithm, whose density gains `log gamma` for
    the change of variables, and a Gaussian with pathwise gradients is fitted there.

    Args:
        line: data and prior, at which it starts.
        budget: of the climb.
        full: whether the two are correlated in the approximation, or a mean field.
    """
    prior, random = line.prior, np.random.default_rng(budget.seed)
    scales = [-0.5 * np.log(prior.shape), 0.5 * np.log(prior.variance)]

    def surrogate(free: Tensor) -> Tensor:
        (first, second), (log_first, log_second), slope = free[:2], free[2:4], free[4] * full
        noise = torch.from_numpy(random.standard_normal((2, budget.samples)))
        log_precision = first + log_first.exp() * noise[0]
        weight = second + log_second.exp() * (slope * noise[0] + noise[1])
        joint = log_joint(line, log_precision, log_precision.exp(), weight) + log_precision
        return joint.mean() + log_first + log_second  # the entropy, but for a constant

    def record(free: Tensor) -> tuple[LogNormal, float, float]:
        first, second = free[2:4].exp().tolist()
        factor = np.array([[first, 0.0], [second * float(free[4]) * full, second]])
        q = LogNormal(free[:2].numpy().copy(), factor @ factor.T)
        return q, log_normal_bound(line, q), q.mean

    return climb([np.log(prior.mean), prior.loc, *scales, 0.0], surrogate, record, budget)


def black_box(line: Line, budget: Budget) -> Climb[Belief]:
    """Black-box variational inference by the score function (3.77), section 3.2.4.1.

    The family is that of coordinate ascent, a Gamma times a Gaussian, whose optimum it should find
    without knowing the model. Each sample's weight in the gradient is its `log p - log q` less the
    mean of that of the others, which keeps the estimator unbiased and takes most of its variance.
    The section says that (3.77) is biased because of its logarithms; it is not, since the mean of
    the score is zero.

    Args:
        line: data and prior, at which it starts.
        budget: of the climb.
    """
    prior, random = line.prior, np.random.default_rng(budget.seed)
    begin = [np.log(prior.mean), np.log(prior.shape), prior.loc, 0.5 * np.log(prior.variance)]

    def belief(free: Tensor) -> Belief:
        log_mean, log_shape, loc, log_scale = free.detach().tolist()
        shape, rate = np.exp(log_shape), np.exp(log_shape - log_mean)
        return Belief(float(shape), float(rate), loc, float(np.exp(2 * log_scale)))

    def surrogate(free: Tensor) -> Tensor:
        now, (log_mean, log_shape, loc, log_scale) = belief(free), free
        precision = torch.from_numpy(random.gamma(now.shape, 1 / now.rate, budget.samples))
        weight = torch.from_numpy(random.normal(now.loc, now.weight_std, budget.samples))
        log_q = Gamma(log_shape.exp(), (log_shape - log_mean).exp()).log_prob(precision)
        log_q = log_q + Normal(loc, log_scale.exp()).log_prob(weight)
        gain = log_joint(line, precision.log(), precision, weight) - log_q.detach()
        others = (gain.sum() - gain) / (budget.samples - 1)
        return ((gain - others) * log_q).mean()

    def record(free: Tensor) -> tuple[Belief, float, float]:
        now = belief(free)
        return now, float(evidence_lower_bound(line, now)), now.mean

    return climb(begin, surrogate, record, budget)
