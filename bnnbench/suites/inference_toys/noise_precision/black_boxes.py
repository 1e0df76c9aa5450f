"""Variational inference that asks the model for nothing but its log joint density: section 3.2.4.

The score-function estimator (3.77) needs its values, the pathwise one (3.78) its gradient too,
which autograd brings. Both climb by Adam, whose steps shrink to nothing so that noise averages out
(3.19).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Gamma, Normal

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.log_normal import LogNormal, log_normal_bound
from bnnbench.suites.inference_toys.noise_precision.model import (
    Line,
    evidence_lower_bound,
    log_joint,
)

Q = TypeVar("Q")

EVERY = 20
"""Steps between two records of the lower bound."""


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
    parameters: Sequence[Tensor],
    surrogate: Callable[[], Tensor],
    record: Callable[[], tuple[Q, float, float]],
    steps: int,
    learning_rate: float,
) -> Climb[Q]:
    """Follows noisy gradients upwards.

    Args:
        parameters: of the approximation; changed in place.
        surrogate: draws samples and returns what has the estimator as its gradient.
        record: the approximation at present, its bound and its mean noise precision.
        steps: of Adam.
        learning_rate: of the first step; falls linearly to nothing.
    """
    optimiser = torch.optim.Adam(parameters, learning_rate)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 1e-3, steps)
    way = [(0, *record()[1:])]
    for step in range(1, steps + 1):
        optimiser.zero_grad()
        (-surrogate()).backward()
        optimiser.step()
        schedule.step()
        if step % EVERY == 0 or step == steps:
            way.append((step, *record()[1:]))
    at, bounds, means = zip(*way, strict=True)
    return Climb(record()[0], at, bounds, means)


@dataclass(frozen=True)
class Budget:
    """How long stochastic gradients climb.

    Attributes:
        steps: of Adam.
        samples: per step.
        learning_rate: of the first step.
        seed: of the samples.
    """

    steps: int
    samples: int
    learning_rate: float
    seed: int


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
    loc = torch.tensor([np.log(prior.mean), prior.loc]).requires_grad_()
    log_scale = torch.tensor([-0.5 * np.log(prior.shape), 0.5 * np.log(prior.variance)])
    log_scale.requires_grad_()
    shear = torch.zeros((), dtype=torch.float64, requires_grad=full)

    def cholesky() -> Tensor:
        scale = log_scale.exp()
        below = torch.stack([torch.zeros_like(shear), shear * scale[1]])
        return torch.diag(scale) + torch.stack([torch.zeros_like(below), below]).mT.fliplr()

    def surrogate() -> Tensor:
        noise = torch.from_numpy(random.standard_normal((budget.samples, 2)))
        log_precision, weight = (loc + noise @ cholesky().mT).unbind(-1)
        joint = log_joint(line, log_precision, log_precision.exp(), weight) + log_precision
        return joint.mean() + log_scale.sum()

    def record() -> tuple[LogNormal, float, float]:
        with torch.no_grad():
            factor = cholesky().numpy()
        q = LogNormal(loc.detach().numpy().copy(), factor @ factor.T)
        return q, log_normal_bound(line, q), q.mean

    free = [loc, log_scale, shear] if full else [loc, log_scale]
    return climb(free, surrogate, record, budget.steps, budget.learning_rate)


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
    free = torch.tensor(begin).requires_grad_()

    def belief() -> Belief:
        log_mean, log_shape, loc, log_scale = free.detach().tolist()
        shape = float(np.exp(log_shape))
        return Belief(shape, float(np.exp(log_shape - log_mean)), loc, float(np.exp(2 * log_scale)))

    def surrogate() -> Tensor:
        now = belief()
        drawn = random.gamma(now.shape, 1 / now.rate, budget.samples)
        precision = torch.from_numpy(drawn)
        weight = torch.from_numpy(random.normal(now.loc, now.weight_std, budget.samples))
        log_mean, log_shape, loc, log_scale = free
        log_q = Gamma(log_shape.exp(), (log_shape - log_mean).exp()).log_prob(precision)
        log_q = log_q + Normal(loc, log_scale.exp()).log_prob(weight)
        gain = log_joint(line, precision.log(), precision, weight) - log_q.detach()
        others = (gain.sum() - gain) / (budget.samples - 1)
        return ((gain - others) * log_q).mean()

    def record() -> tuple[Belief, float, float]:
        now = belief()
        return now, float(evidence_lower_bound(line, now)), now.mean

    return climb([free], surrogate, record, budget.steps, budget.learning_rate)
