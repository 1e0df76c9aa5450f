"""Every divergence as its YAML has it, also at other orders, and pairs of Gaussians."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.cli.configs import options
from bnnbench.cli.make import make
from bnnbench.divergences.base import Divergence, RatioDivergence
from bnnbench.divergences.priors import Prior
from support.config import compose_only

Function = Callable[..., Tensor]
ALPHAS = (0.01, 0.25, 0.5, 0.75, 1.5, 3.0)
ALIASES = {  # of the GVI thesis
    "a": "alpha", "ar": "renyi", "aar": "alpha_renyi", "f": "fisher",
    "tvl": "tv_lower", "tvu": "tv_upper",
}  # fmt: skip

BOUNDS = ("reverse_kl", "gan")

WEIGHTED = ("js_w2",)  # another of these times a number


@cache
def divergence(name: str, **settings: Any) -> Divergence:
    """An option of `configs/divergence`, with some settings changed."""
    made = make("divergence", compose_only(f"divergence={name}", "prior=gaussian")["divergence"])
    return replace(made, **settings)


@cache
def prior(name: str) -> Prior:
    """An option of `configs/prior`."""
    made: Prior = make("prior", compose_only(f"prior={name}")["prior"])
    return made


def every_divergence() -> list[Divergence]:
    """All options but aliases and other weights, and orders beside those that are preset.

    Not those that are bounded by an estimator of a density ratio: these are of experiments.
    """
    others = {*ALIASES, *BOUNDS, *WEIGHTED}
    names = [name for name in sorted(options("divergence")) if name not in others]
    orders = [("alpha", 1.5), ("renyi", 1.5), ("alpha_renyi", 1.5), ("alpha_js", 1)]
    orders += [("renyi", 1), ("alpha", 1)]
    return [divergence(name) for name in names] + [
        divergence(name, alpha=float(order)) for name, order in orders
    ]


DIVERGENCES = every_divergence()
RATIOS = [one for one in DIVERGENCES if isinstance(one, RatioDivergence)]


def sampled(one: Divergence, prior_name: str = "gaussian") -> RatioDivergence:
    """The same, estimated from samples, perhaps with another prior."""
    chosen = replace(one, estimator="monte_carlo", prior=prior(prior_name))
    assert isinstance(chosen, RatioDivergence)
    return chosen


def pairs(count: int = 30) -> np.ndarray:
    """`[count, 4]`: q and p from nearly equal to 60 million times as wide and ten apart."""
    rng = np.random.default_rng(7)
    p_scale = np.exp(rng.uniform(-2, 2, count))
    q_scale = p_scale * np.exp(rng.choice([0.02, 0.3, 2, 7, 18], count) * rng.uniform(-1, 1, count))
    p_loc = rng.normal(size=count)
    wide = np.maximum(q_scale, p_scale)
    apart = rng.choice([0, 0.02, 0.5, 3, 10], count) * rng.uniform(0.5, 1, count) * wide
    return np.stack([p_loc + apart, q_scale, p_loc, p_scale], 1)


def columns(given: np.ndarray, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """`q_loc`, `q_scale`, `p_loc` and `p_scale`, a tensor each."""
    return list(torch.tensor(given, dtype=dtype).unbind(-1))


def chernoff(alpha: float, log_q: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """`q^alpha p^(1-alpha)` less what integrates to 1: nowhere negative over alpha (alpha - 1)."""
    mixture = alpha * np.exp(log_q) + (1 - alpha) * np.exp(log_p)
    return np.exp(alpha * log_q + (1 - alpha) * log_p) - mixture


def skewed(alpha: float, log_q: np.ndarray, log_p: np.ndarray) -> np.ndarray:
    """`q log(q / ((1 - alpha) q + alpha p))`."""
    u = log_p - log_q
    near = np.log1p(alpha * np.expm1(np.minimum(u, 1)))
    far = np.logaddexp(math.log(1 - alpha), math.log(alpha) + u)
    return -np.exp(log_q) * np.where(u < 1, near, far)


def close_on_average(estimates: Tensor, expected: Tensor) -> None:
    """Within four standard errors, which must themselves be small."""
    error = estimates.std(0) / len(estimates) ** 0.5
    assert error.max() < 0.02
    assert ((estimates.mean(0) - expected).abs() < 4 * error + 1e-6).all()
