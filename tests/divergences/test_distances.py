"""Fisher-Rao and Wasserstein distances."""

from __future__ import annotations

import math

import torch
from scipy.special import roots_legendre
from support.divergences import gaussian_pairs, pair_parameters

from bnnbench.divergences.distances import fisher, wasserstein2


def test_fisher_is_the_thesis_formula_and_a_length() -> None:
    q_loc, q_scale, p_loc, p_scale = given = pair_parameters(gaussian_pairs())
    square = (q_loc - p_loc).square()
    root = (
        (square + 2 * (q_scale - p_scale).square()) * (square + 2 * (q_scale + p_scale).square())
    ).sqrt()
    expected = math.sqrt(2) * torch.log(
        (root + square + 2 * (q_scale.square() + p_scale.square())) / (4 * q_scale * p_scale)
    )
    torch.testing.assert_close(fisher(*given), expected, rtol=1e-6, atol=1e-9)
    middle = [torch.zeros_like(q_loc), torch.ones_like(q_loc)]
    around = fisher(*given[:2], *middle) + fisher(*middle, *given[2:])
    assert (fisher(*given) <= around * (1 + 1e-12)).all()


def test_wasserstein_is_the_squared_distance_of_the_quantiles() -> None:
    q_loc, q_scale, p_loc, p_scale = (c[:, None] for c in pair_parameters(gaussian_pairs(50)))
    levels, weights = roots_legendre(4000)
    z = torch.special.ndtri(torch.from_numpy(0.5 + 0.5 * levels))
    # The quadrature of (a + b z)^2 is exact up to the truncated tails.
    gap = (q_loc - p_loc + (q_scale - p_scale) * z).square() @ torch.from_numpy(0.5 * weights)
    torch.testing.assert_close(
        wasserstein2(*pair_parameters(gaussian_pairs(50))), gap, rtol=1e-5, atol=1e-12
    )
