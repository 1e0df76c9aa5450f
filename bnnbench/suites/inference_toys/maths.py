"""Mathematics that several toys share. Arguments broadcast against each other."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

LOG_TWO_PI = float(np.log(2 * np.pi))


def simulate_line(
    rows: int, weight: float, noise_precision: float, seed: int
) -> tuple[Array, Array]:
    """Return inputs from -2 to 2 and targets `weight * inputs + noise`, `[N]` each."""
    inputs = np.linspace(-2.0, 2.0, rows)
    noise = np.random.default_rng(seed).normal(0.0, noise_precision**-0.5, rows)
    return inputs, weight * inputs + noise


def log_normal(value: Any, mean: Any, variance: Any) -> Any:
    """Return the log density of `N(mean, variance)`."""
    return -0.5 * (np.log(2 * np.pi * variance) + (value - mean) ** 2 / variance)


def normal_density(value: Any, mean: Any, std: Any) -> Any:
    """Return the density of `N(mean, std ** 2)`."""
    return np.exp(-0.5 * ((value - mean) / std) ** 2) / std / np.sqrt(2 * np.pi)


def normal_kl(mean: Any, variance: Any, prior_variance: Any) -> Any:
    """Return `KL(N(mean, variance) || N(0, prior_variance))` in nats."""
    ratio = variance / prior_variance
    return 0.5 * (ratio + mean**2 / prior_variance - 1 - np.log(ratio))


def standard_normal_grid(n_nodes: int, half_width: float) -> tuple[Array, Array]:
    """Return nodes and weights, `[n_nodes]` each, of the trapezium rule for a standard normal."""
    nodes = np.linspace(-half_width, half_width, n_nodes)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()
