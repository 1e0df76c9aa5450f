"""ADF, EP and power EP: known fixed points, exact cases and moments."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bnnbench.suites.inference_toys.clutter.baselines import gaussian_vi
from bnnbench.suites.inference_toys.clutter.message_passing import (
    NaturalGaussian,
    expectation_propagation,
    tilted_moments,
    update_site,
)
from bnnbench.suites.inference_toys.clutter.model import ClutterModel, exact_posterior

TOLERANCE = 1e-12


def in_order(model: ClutterModel) -> np.ndarray:
    return np.arange(len(model.observations))[None]


def shuffled(model: ClutterModel, runs: int, seed: int = 0) -> np.ndarray:
    orders = np.tile(in_order(model), (runs, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


def test_the_known_fixed_point(model: ClutterModel) -> None:
    result = expectation_propagation(model, in_order(model), 100, TOLERANCE)
    assert result.estimates[-1, :2, 0] == pytest.approx((2.5980, 0.4194), abs=5e-5)
    assert (result.last.sites[..., 0] < 0).sum() == 8
    assert result.passes.tolist() == [11] and result.last.skipped.tolist() == [0]


def test_adf_depends_on_the_order_and_ep_does_not(model: ClutterModel) -> None:
    estimates = expectation_propagation(model, shuffled(model, 100), 100, TOLERANCE).estimates
    adf = estimates[1]
    assert adf.mean(axis=1) == pytest.approx((2.58, 0.522, -45.1), abs=0.2)
    assert adf[0].std() == pytest.approx(0.29, abs=0.05)
    assert adf[2].std() == pytest.approx(0.7, abs=0.15)
    assert np.ptp(estimates[-1, 0]) < 1e-10


def test_two_hundred_observations_have_a_second_fixed_point(
    minka_model: Callable[..., ClutterModel],
) -> None:
    """Some orders converge to an outlier, with a far lower log evidence."""
    model = minka_model(200)
    exact = exact_posterior(model)
    result = expectation_propagation(model, shuffled(model, 400, seed=1), 100, TOLERANCE)
    mean, _, log_evidence = result.estimates[-1]
    other = np.abs(mean - exact.mean) > 1
    assert 0 < other.sum() < 40
    assert np.ptp(mean[other]) < 1e-8 and np.isfinite(result.passes[other]).all()
    assert log_evidence[other].max() < exact.log_evidence - 100


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_without_clutter_one_pass_is_exact(power: float) -> None:
    x = np.array([0.3, -1.2, 2.0, 0.9])
    model = ClutterModel(x, clutter_weight=1e-300, prior_variance=4.0)
    result = expectation_propagation(model, in_order(model), 30, TOLERANCE, power)
    variance = 1 / (1 / 4 + len(x))
    evidence = sum(
        norm.logpdf(value, variance_before * x[:i].sum(), np.sqrt(1 + variance_before))
        for i, value in enumerate(x)
        for variance_before in [1 / (1 / 4 + i)]
    )
    step = 1 if power == 1 else -1
    expected = (variance * x.sum(), np.sqrt(variance), evidence)
    assert result.estimates[step, :, 0] == pytest.approx(expected)


def test_the_evidence_of_adf_is_the_product_of_its_predictive_densities(
    model: ClutterModel,
) -> None:
    order = shuffled(model, 1)[0]
    mean, variance, total = np.zeros(1), np.full(1, model.prior_variance), 0.0
    for column in order:
        log_mass, mean, variance = tilted_moments(model, np.array([column]), mean, variance)
        total += log_mass[0]
    result = expectation_propagation(model, order[None], 1, TOLERANCE)
    expected = (mean[0], np.sqrt(variance[0]), total)
    assert result.estimates[1, :, 0] == pytest.approx(expected)
    assert np.isinf(result.passes).all()


@pytest.mark.parametrize("power", [1.0, 0.5, 2.0])
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 100.0), (2.0, 0.2)])
def test_moments_agree_with_quadrature(
    model: ClutterModel, power: float, mean: float, variance: float
) -> None:
    log_mass, tilted_mean, tilted_variance = tilted_moments(
        model, np.array([4]), np.array([mean]), np.array([variance]), power
    )
    scale = np.sqrt(variance)

    def density(theta: float, degree: int) -> float:
        factor = np.exp(model.log_factors(np.array([[theta]]))[0, 4])
        return float(theta**degree * norm.pdf(theta, mean, scale) * factor**power)

    limits, points = (mean - 12 * scale, mean + 12 * scale), [model.observations[4], mean]
    mass, first, second = (
        quad(density, *limits, (k,), points=points, limit=300)[0] for k in range(3)
    )
    assert log_mass[0] == pytest.approx(np.log(mass), abs=1e-8)
    assert tilted_mean[0] == pytest.approx(first / mass, abs=1e-7)
    assert tilted_variance[0] == pytest.approx(second / mass - (first / mass) ** 2, abs=1e-6)


@pytest.mark.parametrize("power", [1.0, 0.3])
def test_at_a_fixed_point_tilted_moments_equal_the_global_moments(
    model: ClutterModel, power: float
) -> None:
    result = expectation_propagation(model, in_order(model), 200, TOLERANCE, power)
    mean, scale, _ = result.estimates[-1, :, 0]
    total = np.array([1 / scale**2, mean / scale**2])
    cavity = NaturalGaussian.from_natural(total - power * result.last.sites[0])
    moments = tilted_moments(model, np.arange(20), cavity.mean, cavity.variance, power)
    assert moments[1] == pytest.approx(mean, abs=1e-8)
    assert moments[2] == pytest.approx(scale**2, abs=1e-8)


def test_power_ep_converges_to_gaussian_vi_as_the_power_vanishes(model: ClutterModel) -> None:
    result = expectation_propagation(model, in_order(model), 200, TOLERANCE, 1e-3)
    limit = gaussian_vi(model, 2.5, 0.5)
    assert result.estimates[-1, :, 0] == pytest.approx(limit[0, :, 0], abs=1e-5)


def test_vectorised_runs_equal_single_runs(model: ClutterModel) -> None:
    orders = shuffled(model, 3)
    both = expectation_propagation(model, orders, 5, 1e-300)
    for run, order in enumerate(orders):
        alone = expectation_propagation(model, order[None], 5, 1e-300)
        np.testing.assert_array_equal(both.estimates[..., run], alone.estimates[..., 0])
        np.testing.assert_array_equal(both.last.sites[run], alone.last.sites[0])


def test_an_update_without_a_proper_cavity_is_invalid(model: ClutterModel) -> None:
    total, old = np.array([[2.0, 1.0], [2.0, 1.0]]), np.array([[3.0, 0.5], [1.0, 0.5]])
    assert update_site(model, total, old, np.zeros(2, int), 1.0).is_valid.tolist() == [False, True]
