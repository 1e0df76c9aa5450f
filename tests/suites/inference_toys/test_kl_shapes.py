"""The Gaussian closest to a mixture, and factorised Gaussians closest to a correlated pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from torch.distributions import MultivariateNormal
from torch.distributions import kl_divergence as torch_kl

from bnnbench.divergences.renyi import alpha_divergence
from bnnbench.suites.inference_toys.kl_shapes import (
    BimodalTarget,
    covariance_matrix,
    divergence,
    fit_factorised,
    kl_divergence,
    local_optima,
)

UNEVEN = BimodalTarget(1.5, 0.3, 0.6)


def density(p: BimodalTarget, x: float) -> float:
    return sum(
        component.weight * float(norm.pdf(x, component.loc, component.scale))
        for component in p.components
    )


def divergence_by_quadrature(p: BimodalTarget, loc: float, scale: float, order: float) -> float:
    """Return eq. 3.68 by adaptive quadrature."""
    a, b = (1 + order) / 2, (1 - order) / 2

    def integrand(x: float) -> float:
        return density(p, x) ** a * float(norm.pdf(x, loc, scale)) ** b

    integral = quad(integrand, -12, 12, limit=400, epsabs=1e-12)[0]
    return 4 / (1 - order**2) * (1 - integral)


@pytest.mark.parametrize(
    ("separation", "order", "loc", "scale"),
    [
        (2, -1, 0, 2.047), (3, -1, 2.984, 1.023), (3, 0, 0, 3.050), (3, 1, 0, 3.162),
    ],
)  # fmt: skip
def test_two_equal_components(separation: float, order: float, loc: float, scale: float) -> None:
    """Between separations 2 and 3, reverse KL moves from the middle to one component."""
    best, *others = local_optima(BimodalTarget(separation), order)
    assert (best.loc, best.scale) == pytest.approx((loc, scale), abs=6e-4)
    if loc:
        mirrored = next(other for other in others if other.loc < -1)
        assert (mirrored.loc, mirrored.divergence) == pytest.approx((-best.loc, best.divergence))


def test_forward_kl_matches_moments() -> None:
    """Eq. 3.40; also checks the moments of p by quadrature."""
    p = UNEVEN
    (fit,) = local_optima(p, 1)
    first, second = (
        quad(lambda x, k=k: x**k * density(p, x), -25, 25, limit=400, points=[-4, 0, 4])[0]
        for k in (1, 2)
    )
    assert p.mean == pytest.approx(first, abs=1e-9)
    assert p.standard_deviation == pytest.approx(math.sqrt(second - first**2))
    assert (fit.loc, fit.scale) == pytest.approx((p.mean, p.standard_deviation), abs=1e-6)


@pytest.mark.parametrize("order", [-3.0, 0.0, 0.4])
def test_the_divergence_matches_quadrature(order: float) -> None:
    scale = 0.9 if order < 0 else 1.3
    expected = divergence_by_quadrature(UNEVEN, 0.2, scale, order)
    assert divergence(UNEVEN, 0.2, scale, order) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("limit", [-1.0, 1.0])
def test_kl_divergences_are_the_limits_of_the_family(limit: float) -> None:
    coarse, fine = (
        divergence(UNEVEN, 0.2, 0.9, limit * (1 - difference)) for difference in (1e-3, 1e-6)
    )
    exact = divergence(UNEVEN, 0.2, 0.9, limit)
    assert abs(fine - exact) < abs(coarse - exact) < 0.01
    assert fine == pytest.approx(exact, abs=1e-5)

    def integrand(x: float) -> float:
        p, q = density(UNEVEN, x), norm.pdf(x, 0.2, 0.9)
        return p * math.log(p / q) if limit == 1 else q * math.log(q / p)

    assert exact == pytest.approx(quad(integrand, -9, 9)[0], rel=1e-6)
    ends, near = (local_optima(UNEVEN, order)[0] for order in (limit, 0.999 * limit))
    assert (near.loc, near.scale) == pytest.approx((ends.loc, ends.scale), abs=0.01)


def test_the_books_alpha_is_twice_the_gvi_thesis_order_less_one() -> None:
    """For arguments in the same order; the package has q first, which mirrors alpha."""
    order = 0.7
    p, q = (0.0, 1.0), (0.4, 1.2)  # two equal components at the same location are a Gaussian
    tensors = [torch.tensor(value, dtype=torch.float64) for value in (*p, *q)]
    same = alpha_divergence(*tensors, alpha=order).item()
    assert divergence(BimodalTarget(0), *q, 2 * order - 1) == pytest.approx(same, rel=1e-9)
    mirrored = alpha_divergence(*tensors[2:], *tensors[:2], alpha=order).item()
    assert divergence(BimodalTarget(0), *q, 1 - 2 * order) == pytest.approx(mirrored, rel=1e-9)


@pytest.mark.parametrize("order", [-2.0, -1.0, 0.0, 8.0])
def test_optima_are_local_minima(order: float) -> None:
    p = BimodalTarget(2, 0.6, 0.5)
    for fit in local_optima(p, order):
        assert divergence(p, fit.loc, fit.scale, order) == fit.divergence
        for loc, scale in [(0.01, 1), (-0.01, 1), (0, 1.01), (0, 0.99), (0.01, 0.99)]:
            moved = divergence(p, fit.loc + loc, fit.scale * scale, order)
            assert moved > fit.divergence - 1e-10


COVARIANCE = covariance_matrix(0.8)
MINIMUM = -0.5 * np.log(0.36)


def test_kl_divergences_equal_those_of_torch() -> None:
    mean, variance = np.array([0.3, -0.2]), np.array([0.5, 2.0])
    q = MultivariateNormal(torch.from_numpy(mean), torch.from_numpy(np.diag(variance)))
    p = MultivariateNormal(torch.zeros(2).double(), torch.from_numpy(COVARIANCE))
    for forward, expected in ((False, torch_kl(q, p)), (True, torch_kl(p, q))):
        ours = kl_divergence(mean, variance, COVARIANCE, forward)
        assert ours == pytest.approx(expected.item())


@pytest.mark.parametrize(("forward", "variance"), [(False, 0.36), (True, 1.0)])
def test_each_direction_has_its_closed_form(forward: bool, variance: float) -> None:
    """Reverse KL matches the diagonal of the precision, 1 / 0.36; forward KL the covariance's."""
    fitted = fit_factorised(COVARIANCE, forward)
    assert fitted == pytest.approx([variance, variance], rel=1e-5)
    assert kl_divergence(np.zeros(2), fitted, COVARIANCE, forward) == pytest.approx(MINIMUM)
