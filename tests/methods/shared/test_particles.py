"""Drifts of particles: their kernel by autograd, and where they settle in a Gaussian."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from bnnbench.methods.shared.particles import (
    DRIFTS,
    ETA,
    Drift,
    kernel,
    squared_distances,
    squared_width,
)

ONE = torch.ones(1, 1, 1, dtype=torch.float64)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def speeded(name: str, speed: float) -> Drift:
    """A drift by its name, times a number."""
    return lambda *given: speed * DRIFTS[name](*given)


def settled(drift: Drift, particles: Tensor, precision: Tensor, mean: Tensor, steps: int) -> Tensor:
    """Where particles rest in a Gaussian, by steps that grow shorter; `[R, M, Q]`."""
    for step in range(steps):
        scores = -(particles - mean) @ precision
        particles = particles + 0.5 * 0.02 ** (step / steps) * drift(particles, scores, ONE)
    return particles


def test_the_kernel_and_its_slope_are_those_of_autograd() -> None:
    """For each pair on its own, the width held."""
    particles = 3 + drawn(2, 5, 3)
    width = squared_width(squared_distances(particles))
    values, apart = kernel(particles)
    for r in range(2):
        for i in (0, 3):
            total = torch.zeros(3, dtype=torch.float64)
            for j in range(5):
                other = particles[r, j].clone().requires_grad_()
                one = (particles[r, i] - other).square().sum()
                value = torch.exp(-one / (2 * width[r, 0, 0]))
                assert values[r, i, j].item() == pytest.approx(value.item())
                total += torch.autograd.grad(value, other)[0]
            torch.testing.assert_close(apart[r, i], total)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_the_width_is_that_of_the_median_of_all_pairs(count: int) -> None:
    """Numpy's median, of the whole matrix with its zeros, as in the published program."""
    particles = drawn(1, count, 4)
    found = [[(a - b).square().sum().item() for a in particles[0]] for b in particles[0]]
    expected = 0.5 * np.median(found) / math.log(count + 1)
    assert squared_width(squared_distances(particles)).item() == pytest.approx(expected)


@pytest.mark.parametrize("name", DRIFTS)
def test_one_particle_follows_its_score(name: str) -> None:
    score = drawn(3, 1, 4)
    share = torch.full((3, 1, 1), 0.01, dtype=torch.float64)
    torch.testing.assert_close(DRIFTS[name](drawn(3, 1, 4, seed=1), score, share), score)


@pytest.mark.parametrize("name", DRIFTS)
def test_many_particles_settle_with_the_moments_of_a_gaussian(name: str) -> None:
    """In two dimensions, that depend on each other. The mean is exact.

    A kernel density is wider than its particles: where it is the target, their covariance is short
    of it by that of the kernel, `h^2` in every direction.
    """
    covariance = torch.tensor([[2.0, 0.6], [0.6, 0.5]], dtype=torch.float64)
    mean = torch.tensor([1.0, -2.0], dtype=torch.float64)
    start = mean + drawn(1, 60, 2) @ torch.linalg.cholesky(covariance).T
    speed = 3.0 if name == "svgd" else 0.3
    ended = settled(speeded(name, speed), start, covariance.inverse(), mean, 300)
    torch.testing.assert_close(ended[0].mean(0), mean, atol=0.02, rtol=0)
    found = ended[0].T.cov(correction=0)
    if name == "kde_wgd":
        found = found + squared_width(squared_distances(ended))[0] * torch.eye(2).double()
    inverse = torch.linalg.inv(torch.linalg.cholesky(covariance))
    spread = torch.linalg.eigvalsh(inverse @ found @ inverse.T)
    assert spread.min() > 0.75 and spread.max() < 1.05


@pytest.mark.parametrize(("members", "dimensions"), [(2, 1), (3, 8), (6, 5), (20, 100)])
@pytest.mark.parametrize("name", DRIFTS)
def test_few_particles_in_many_dimensions_collapse_to_a_simplex(
    name: str, members: int, dimensions: int
) -> None:
    """With the variance that the equations have for it, however wide they start.

    All pairs are as far apart, so that the kernel is 1 or one number between them.
    """
    identity = torch.eye(dimensions, dtype=torch.float64)
    start = drawn(1, members, dimensions)
    drift = speeded(name, members / 2 if name == "svgd" else 1.0)
    ended = settled(drift, start, identity, 0 * start[0, 0], 300)[0]
    variance = ended.var(0, correction=0).mean().item()
    expected = _simplex_variance(name, members, dimensions)
    assert variance == pytest.approx(expected, rel=1e-3)
    if members == 20:
        assert expected < 0.03


def _simplex_variance(name: str, members: int, dimensions: int) -> float:
    median = 0.5 if members == 2 else 1.0  # of two particles half of the distances are zero
    between = math.exp(-math.log(members + 1) / median)
    drive = {"svgd": 1 - between, "kde_wgd": 1 + (members - 1) * between}
    drive["sge_wgd"] = 1 - between + ETA
    width = members * between / drive[name]
    distance = 2 * width * math.log(members + 1) / median
    return distance * (members - 1) / (2 * members * dimensions)
