"""Two distances from the exact posterior, on draws of known distance."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from support.exact_draws import posterior_samples

from bnnbench.suites.lam_density_ratio import sprinkler
from bnnbench.suites.lam_density_ratio.comparison.thesis import AVERAGE_KL_FLOOR, EXACT_KL
from bnnbench.suites.lam_density_ratio.posterior_distances import (
    average_kl,
    log_kernel_density,
    nearest_neighbour_kl,
)

OBSERVATIONS = sprinkler.OBSERVATIONS


def exact(count: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.stack([posterior_samples(x, count, random) for x in OBSERVATIONS])


def test_kernel_density_agrees_with_its_formula() -> None:
    points = np.random.default_rng(0).normal(size=(2, 40, 2)) * [1.0, 3.0] + [5.0, -2.0]
    for ours, z in zip(log_kernel_density(torch.from_numpy(points)).numpy(), points, strict=True):
        h = 1.06 * z.std(0) * len(z) ** (-1 / 6)
        for value, at in zip(ours, z, strict=True):
            kernels = [math.prod(math.exp(-((at[d] - w[d]) ** 2) / (2 * h[d] ** 2))
                                 / (math.sqrt(2 * math.pi) * h[d]) for d in range(2))
                       for w in z]  # fmt: skip
            assert value == pytest.approx(math.log(np.mean(kernels)), abs=1e-10)


@pytest.mark.slow
def test_exact_draws_score_the_floor_of_the_thesiss_metric() -> None:
    """1.3241 with 1000 draws; values by observation are from an independent program."""
    draws = torch.from_numpy(exact(20 * 1000)).view(5, 20, 1000, 2).transpose(0, 1).float()
    own = torch.stack([average_kl(draws[:, [k]], OBSERVATIONS[k : k + 1]) for k in range(5)])
    known = torch.tensor([-1.0571, 0.2788, 0.9752, 1.7440, 4.6786], dtype=torch.float64)
    torch.testing.assert_close(own.mean(1), known, rtol=0, atol=0.005)
    whole = average_kl(draws[:2], OBSERVATIONS)
    torch.testing.assert_close(whole, own[:, :2].mean(0), rtol=1e-12, atol=0)
    assert own.mean().item() == pytest.approx(AVERAGE_KL_FLOOR, abs=0.002)
    assert own.mean(0).std().item() == pytest.approx(0.0022, abs=0.0012)


def test_nearest_neighbour_kl_of_exact_draws() -> None:
    kls = [nearest_neighbour_kl(exact(20_000, seed), OBSERVATIONS) for seed in range(2)]
    assert np.mean(kls) == pytest.approx(EXACT_KL, abs=0.004)


def test_the_distance_of_non_finite_draws_is_nan() -> None:
    draws = exact(50)
    draws[2, 3] = np.nan
    assert math.isnan(nearest_neighbour_kl(draws, OBSERVATIONS))
    assert average_kl(torch.from_numpy(draws)[None], OBSERVATIONS).isnan().all()
