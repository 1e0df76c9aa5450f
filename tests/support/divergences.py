"""Every configured divergence, at several orders, and pairs of Gaussians."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.config.configs import options
from bnnbench.config.instantiate import instantiate
from bnnbench.divergences.base import Divergence, RatioDivergence
from bnnbench.divergences.priors import Prior
from support.config import compose_only

Function = Callable[..., Tensor]
ALPHAS = (0.01, 0.25, 0.5, 0.75, 1.5, 3.0)
REWEIGHTED = ("js_weight_2",)  # multiples of other options


@cache
def divergence(name: str, **settings: Any) -> Divergence:
    """Return an option of `configs/divergence`, with some settings changed."""
    made = instantiate(
        "divergence", compose_only(f"divergence={name}", "prior=gaussian")["divergence"]
    )
    return replace(made, **settings)


@cache
def prior(name: str) -> Prior:
    """Return an option of `configs/prior`."""
    made: Prior = instantiate("prior", compose_only(f"prior={name}")["prior"])
    return made


def every_divergence() -> list[Divergence]:
    """Return all options except reweighted ones, and some divergences of other orders."""
    names = [name for name in sorted(options("divergence")) if name not in REWEIGHTED]
    orders = [("alpha_js", 1), ("renyi", 1), ("alpha", 1)]
    return [divergence(name) for name in names] + [
        divergence(name, alpha=float(order)) for name, order in orders
    ]


DIVERGENCES = every_divergence()
RATIOS = [one for one in DIVERGENCES if isinstance(one, RatioDivergence)]


def monte_carlo(one: Divergence, prior_name: str = "gaussian") -> RatioDivergence:
    """Return the divergence with the Monte Carlo estimator, for any prior."""
    chosen = replace(one, estimator="monte_carlo", prior=prior(prior_name))
    assert isinstance(chosen, RatioDivergence)
    return chosen


def gaussian_pairs(count: int = 30) -> np.ndarray:
    """Return random pairs of Gaussians q and p, from nearly equal to very different.

    Returns:
        `[count, 4]`: mean and standard deviation of q, then of p. Means differ by up to ten
        standard deviations; the ratio of standard deviations is at most 60 million.
    """
    rng = np.random.default_rng(7)
    p_scale = np.exp(rng.uniform(-2, 2, count))
    q_scale = p_scale * np.exp(rng.choice([0.02, 0.3, 2, 7, 18], count) * rng.uniform(-1, 1, count))
    p_loc = rng.normal(size=count)
    wide = np.maximum(q_scale, p_scale)
    apart = rng.choice([0, 0.02, 0.5, 3, 10], count) * rng.uniform(0.5, 1, count) * wide
    return np.stack([p_loc + apart, q_scale, p_loc, p_scale], 1)


def pair_parameters(pairs: np.ndarray, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Return the tensors `q_loc`, `q_scale`, `p_loc` and `p_scale`."""
    return list(torch.tensor(pairs, dtype=dtype).unbind(-1))


def chernoff(alpha: float, log_q: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """Return `q^alpha p^(1-alpha)` minus a density.

    Divided by alpha (alpha - 1), it is never negative.
    """
    mixture = alpha * np.exp(log_q) + (1 - alpha) * np.exp(log_p)
    return np.exp(alpha * log_q + (1 - alpha) * log_p) - mixture


def skew_kl_density(alpha: float, log_q: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """Return `q log(q / ((1 - alpha) q + alpha p))`."""
    u = log_p - log_q
    near = np.log1p(alpha * np.expm1(np.minimum(u, 1)))
    far = np.logaddexp(math.log(1 - alpha), math.log(alpha) + u)
    return -np.exp(log_q) * np.where(u < 1, near, far)


def assert_close_on_average(estimates: Tensor, expected: Tensor) -> None:
    """Assert agreement within four standard errors, which must be small."""
    error = estimates.std(0) / len(estimates) ** 0.5
    assert error.max() < 0.02
    assert ((estimates.mean(0) - expected).abs() < 4 * error + 1e-6).all()
