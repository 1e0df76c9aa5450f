"""Drifts of particles: stationary particles for a Gaussian. test_svgd.py tests single steps."""

from __future__ import annotations

import math

import pytest
import torch
from support.draws import drawn
from torch import Tensor

from bnnbench.methods.svgd import (
    DRIFTS,
    ETA,
    Drift,
    squared_bandwidth,
    squared_distances,
)

ONE = torch.ones(1, 1, 1, dtype=torch.float64)


def scaled(name: str, factor: float) -> Drift:
    """Return a drift times a factor."""
    return lambda *arguments: factor * DRIFTS[name](*arguments)


def converged(
    drift: Drift, particles: Tensor, precision: Tensor, mean: Tensor, steps: int
) -> Tensor:
    """Move particles for a Gaussian target with decreasing steps, `[R, M, Q]`."""
    for step in range(steps):
        scores = -(particles - mean) @ precision
        particles = particles + 0.5 * 0.02 ** (step / steps) * drift(particles, scores, ONE)
    return particles


@pytest.mark.slow
@pytest.mark.parametrize("name", DRIFTS)
def test_many_particles_have_the_moments_of_the_target(name: str) -> None:
    """For a correlated Gaussian in two dimensions; the mean is exact.

    For `kde_wgd` the kernel density of the particles matches the target, so their covariance is
    smaller by that of the kernel, `h^2` in every direction.
    """
    covariance = torch.tensor([[2.0, 0.6], [0.6, 0.5]], dtype=torch.float64)
    mean = torch.tensor([1.0, -2.0], dtype=torch.float64)
    start = mean + drawn(1, 60, 2) @ torch.linalg.cholesky(covariance).T
    factor = 3.0 if name == "svgd" else 0.3
    ended = converged(scaled(name, factor), start, covariance.inverse(), mean, 300)
    torch.testing.assert_close(ended[0].mean(0), mean, atol=0.02, rtol=0)
    found = ended[0].T.cov(correction=0)
    if name == "kde_wgd":
        found = found + squared_bandwidth(squared_distances(ended))[0] * torch.eye(2).double()
    inverse = torch.linalg.inv(torch.linalg.cholesky(covariance))
    spread = torch.linalg.eigvalsh(inverse @ found @ inverse.T)
    assert spread.min() > 0.75 and spread.max() < 1.05


@pytest.mark.parametrize(
    ("name", "members", "dimensions"), [("svgd", 2, 1), ("kde_wgd", 3, 8), ("sge_wgd", 20, 100)]
)
def test_few_particles_in_many_dimensions_collapse_to_a_simplex(
    name: str, members: int, dimensions: int
) -> None:
    """The variance has a closed form, since all pairs have the same distance."""
    identity = torch.eye(dimensions, dtype=torch.float64)
    start = drawn(1, members, dimensions)
    drift = scaled(name, members / 2 if name == "svgd" else 1.0)
    ended = converged(drift, start, identity, 0 * start[0, 0], 300)[0]
    variance = ended.var(0, correction=0).mean().item()
    expected = _simplex_variance(name, members, dimensions)
    assert variance == pytest.approx(expected, rel=1e-3)
    if members == 20:
        assert expected < 0.03


def _simplex_variance(name: str, members: int, dimensions: int) -> float:
    median = 0.5 if members == 2 else 1.0  # with two particles, half of the distances are zero
    between = math.exp(-math.log(members + 1) / median)
    drive = {"svgd": 1 - between, "kde_wgd": 1 + (members - 1) * between}
    drive["sge_wgd"] = 1 - between + ETA
    width = members * between / drive[name]
    distance = 2 * width * math.log(members + 1) / median
    return distance * (members - 1) / (2 * members * dimensions)
