"""The lower bounds of section 4.2: closed forms, and that they are bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bnnbench.suites.lam_density_ratio.theory.bounds import (
    BOUNDS,
    DIVERGENCES,
    DensityPair,
    Mixture,
    gan,
    gaussian,
    kl_posterior_prior,
    powers,
    shifts,
)
from bnnbench.suites.lam_density_ratio.theory.divergence_bounds import PAIRS

PAIR = st.builds(
    lambda loc, scale, other: DensityPair(gaussian(loc, scale), gaussian(0.0, other)),
    st.floats(-2, 2, allow_subnormal=False),
    st.floats(0.4, 1.5),
    st.floats(0.6, 2),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pair=PAIR)
def test_the_divergence_of_two_gaussians(pair: DensityPair) -> None:
    (m,), (s,), (t,) = pair.q.loc, pair.q.scale, pair.p.scale
    closed = math.log(t / s) + (s**2 + m**2) / (2 * t**2) - 0.5
    assert kl_posterior_prior(pair) == pytest.approx(closed, abs=1e-11)


def test_the_gan_divergence_of_equal_and_of_distant_densities() -> None:
    """`f(1) = -log 4`, where a divergence should have zero (section 4.2.4)."""
    assert gan(DensityPair(gaussian(1, 2), gaussian(1, 2))) == pytest.approx(
        -math.log(4), abs=1e-12
    )
    assert gan(DensityPair(gaussian(40, 1), gaussian(0, 1))) == pytest.approx(0, abs=1e-12)


def test_a_mixture_is_the_sum_of_its_parts() -> None:
    mixture = Mixture((-1.0, 2.0), (0.5, 1.0), (0.3, 0.7))
    u = np.linspace(-3, 5, 9)
    parts = 0.3 * np.exp(gaussian(-1, 0.5).log_density(u)) + 0.7 * np.exp(
        gaussian(2, 1).log_density(u)
    )
    np.testing.assert_allclose(np.exp(mixture.log_density(u)), parts, rtol=1e-12)
    np.testing.assert_allclose(
        gaussian(0, 1).log_density(np.zeros(1)), -0.5 * math.log(2 * math.pi)
    )


@pytest.mark.parametrize("divergence", BOUNDS)
@pytest.mark.parametrize("name", PAIRS)
def test_the_bound_touches_at_the_exact_ratio(divergence: str, name: str) -> None:
    pair, truth = PAIRS[name], DIVERGENCES[divergence](PAIRS[name])
    for exact in (powers(pair, np.ones(1)), shifts(pair, np.zeros(1))):
        assert BOUNDS[divergence](pair, exact)[0] == pytest.approx(truth, abs=1e-12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    pair=PAIR,
    divergence=st.sampled_from(list(BOUNDS)),
    power=st.floats(0, 1.5, allow_subnormal=False).filter(lambda c: abs(c - 1) > 1e-3),
    shift=st.floats(1e-3, 10),
)
def test_the_bound_lies_below_elsewhere(
    pair: DensityPair, divergence: str, power: float, shift: float
) -> None:
    truth, bound = DIVERGENCES[divergence](pair), BOUNDS[divergence]
    # For almost equal densities a power changes nothing.
    distinct = DIVERGENCES["kl_posterior_prior"](pair) > 1e-4
    if distinct:
        assert bound(pair, powers(pair, np.array([power])))[0] < truth
    assert bound(pair, shifts(pair, np.array([shift])))[0] < truth


def test_any_function_gives_less_than_the_ratio() -> None:
    """Theorem 4.2.1 for estimates outside both families."""
    pair = PAIRS["mixture"]
    for estimate in (np.sin, np.tanh, lambda u: -0.1 * u**2, lambda u: pair.log_ratio(u) + 0.01):
        for divergence, bound in BOUNDS.items():
            value = bound(pair, lambda u, estimate=estimate: estimate(u)[None])[0]  # type: ignore[misc]
            assert value < DIVERGENCES[divergence](pair)
