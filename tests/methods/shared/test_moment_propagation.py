"""Moments of rectified Gaussians in high precision. test_dvi.py tests those through a network."""

from __future__ import annotations

import math

import mpmath
import pytest
import torch

from bnnbench.methods.shared.moment_propagation import match_gamma, rectify, rectify_back

ALPHAS = [-1e4, -37, -6.001, -5.999, -1, 0, 5, 60]


def exact(loc: float, variance: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the moments of the rectified Gaussian in 400 digits."""
    loc, variance = mpmath.mpf(loc), mpmath.mpf(variance)
    scale = mpmath.sqrt(variance)
    cdf, pdf = mpmath.ncdf(loc / scale), mpmath.npdf(loc / scale)
    mean = loc * cdf + scale * pdf
    return mean, (loc**2 + variance) * cdf + loc * scale * pdf - mean**2


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("variance", [1e-6, 40.0])
def test_rectified_moments_and_derivatives_in_the_tails(alpha: float, variance: float) -> None:
    loc = torch.tensor([alpha * math.sqrt(variance)], dtype=torch.float64)
    ours = rectify(loc, torch.tensor([variance], dtype=torch.float64))
    with mpmath.workdps(400):
        expected = exact(loc.item(), variance)
        pairs = [(ours.mean, expected[0]), (ours.variance, expected[1])]
        step = mpmath.mpf(10) ** -80 * mpmath.sqrt(variance)
        for k in range(2):
            one = torch.ones(1).double()
            d = rectify_back(ours, (one * (k == 0), one * (k == 1)))
            low, high = exact(loc.item() - step, variance)[k], exact(loc.item() + step, variance)[k]
            pairs.append((d[0], (high - low) / (2 * step)))
            v = mpmath.mpf(variance)
            low, high = exact(loc.item(), v - step * v)[k], exact(loc.item(), v + step * v)[k]
            pairs.append((d[1], (high - low) / (2 * step * v)))
        for value, truth in pairs:
            assert value.item() == pytest.approx(float(truth), rel=1e-8, abs=1e-290)


def test_match_gamma_follows_the_book_and_is_conjugate_in_the_limit() -> None:
    a, b, v, e = 6.0, 4.0, 0.3, 1.7
    k = [math.exp(-0.5 * e**2 / s) / math.sqrt(s) for s in (v + b / (a - 1 + i) for i in range(3))]
    alpha = 1 / (k[0] * k[2] / k[1] ** 2 * (a + 1) / a - 1)
    beta = 1 / (k[2] / k[1] * (a + 1) / b - k[1] / k[0] * a / b)
    ours = match_gamma(*tensors((a, b), v, e**2))
    assert [t.item() for t in ours] == pytest.approx([alpha, beta])
    far = match_gamma(*tensors((a, b), v, 1e7))  # Z underflows
    assert all(t.isfinite().all() and t > 0 for t in far)
    ours = match_gamma(*tensors((1e5, 1e5), 0.0, e**2))
    assert ours[0].item() - 1e5 == pytest.approx(0.5, abs=1e-4)
    assert ours[1].item() - 1e5 == pytest.approx(e**2 / 2, abs=1e-3)


def tensors(gamma: tuple[float, float], *values: float) -> tuple:
    one = torch.ones(1, 1).double()
    return (gamma[0] * one, gamma[1] * one), *(value * one for value in values)
