"""The alpha families: relations, limits and domain."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
from support.divergences import divergence, gaussian_pairs, pair_parameters

from bnnbench.divergences.base import Divergence
from bnnbench.divergences.kl import kl, kl_prior_posterior
from bnnbench.divergences.renyi import Renyi, alpha_divergence, alpha_renyi, renyi


@pytest.mark.parametrize("alpha", [0.01, 0.5, 3.0])
def test_renyi_is_a_logarithm_of_the_alpha_divergence(alpha: float) -> None:
    """Thesis, section 4.1, with the sign and factor of section 5.0.1."""
    given = pair_parameters(np.stack([p for p in gaussian_pairs() if p[1] < 1.2 * p[3]]))
    integral = 1 + alpha * (alpha - 1) * alpha_divergence(*given, alpha)
    small = (integral > 1e-6) & (integral < 1e6)
    expected = integral.log() / (alpha - 1)
    ours = renyi(*given, alpha)
    torch.testing.assert_close(ours[small], expected[small], rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(alpha_renyi(*given, alpha), alpha * ours)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_limits_of_alpha(dtype: torch.dtype) -> None:
    """KL at 1, from both sides and at 1 itself; KL(p || q) at 0 (Rényi: over alpha)."""
    moderate = np.stack([p for p in gaussian_pairs() if abs(math.log(p[1] / p[3])) < 2])
    given = pair_parameters(moderate, dtype)
    step = 1e-4 if dtype == torch.float32 else 1e-8
    away = alpha_divergence(*given, 0.5) < 3.5  # else exp(alpha * large) is far from its limit
    close = partial(torch.testing.assert_close, rtol=200 * step, atol=10 * step)
    for family in (renyi, alpha_renyi, alpha_divergence):
        for alpha in (1 - step, 1.0, 1 + step):
            close(family(*given, alpha)[away], kl(*given)[away])
    close((renyi(*given, step) / step)[away], kl_prior_posterior(*given)[away])
    close(alpha_divergence(*given, step)[away], kl_prior_posterior(*given)[away])


@pytest.mark.parametrize("name", ["renyi", "alpha_renyi", "alpha", "chi2"])
def test_outside_the_domain_is_nan_and_inside_is_not(name: str) -> None:
    chosen = divergence(name) if name == "chi2" else divergence(name, alpha=2.0)
    loc, scale = torch.zeros(1, 2), torch.tensor([[math.sqrt(1.9), math.sqrt(2.1)]])
    assert chosen._closed(loc, scale, torch.ones(1, 1)).isnan().tolist() == [[False, True]]
    for gradient in chosen.gradient(loc, scale, torch.ones(1, 1)):
        assert gradient.isnan().tolist() == [[False, True]]
    for gradient in Divergence.partials(chosen, loc, scale, torch.ones(1, 1)):
        assert gradient.isnan()[0, 1]


@pytest.mark.parametrize(("alpha", "log_ratio"), [(0.25, -46.0), (0.75, 46.0), (2.0, 46.0)])
def test_renyi_at_scales_whose_squares_overflow(alpha: float, log_ratio: float) -> None:
    """Against float64: the ratio of the scales is 1e20 or 1e-20, its square beyond float32."""
    given = [torch.tensor(v, dtype=torch.float64) for v in (0.0, math.exp(log_ratio), 0.0, 1.0)]
    value = renyi(*(v.float() for v in given), alpha)
    if alpha > 1 and log_ratio > 0:
        assert value.isnan(), "outside the domain"
        return
    mixed = np.logaddexp(math.log(alpha), math.log(abs(1 - alpha)) + 2 * log_ratio)
    if alpha > 1:
        mixed = math.log(alpha)  # (1 - alpha) q^2 is negligible
    want = 0.5 * mixed / (1 - alpha) - log_ratio
    assert value.item() == pytest.approx(want, rel=1e-5)
    slopes = Renyi(label="renyi", alpha=alpha).gradient(
        *(v.float().view(1, 1) for v in (given[0], given[1], given[3]))
    )
    assert all(slope.isfinite().all() for slope in slopes)
