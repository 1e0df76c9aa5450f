"""ADF, EP and power EP: known fixed points, exact cases and moments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bnnbench.suites.inference_toys.clutter.expectation_propagation import (
    _update_site,
    expectation_propagation,
    tilted_moments,
)
from bnnbench.suites.inference_toys.clutter.gaussians import NaturalGaussian
from bnnbench.suites.inference_toys.clutter.model import ClutterModel, exact_posterior, simulate
from bnnbench.suites.inference_toys.clutter.variational import gaussian_vi

TOLERANCE = 1e-12


def minka_model(count: int = 20) -> ClutterModel:
    """Return the model with the data of the experiment."""
    return ClutterModel(simulate(count, 2.0, 0.5, 10.0, seed=0)[0])


def in_order(model: ClutterModel) -> np.ndarray:
    return np.arange(len(model.observations))[None]


def shuffled(model: ClutterModel, runs: int, seed: int = 0) -> np.ndarray:
    orders = np.tile(in_order(model), (runs, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


def test_the_known_fixed_point() -> None:
    model = minka_model()
    result = expectation_propagation(model, in_order(model), 100, TOLERANCE)
    assert result.progress.mean[-1, 0] == pytest.approx(2.5980, abs=5e-5)
    assert result.progress.scale[-1, 0] == pytest.approx(0.4194, abs=5e-5)
    assert (result.sites.precision < 0).sum() == 8
    assert result.passes.tolist() == [11] and result.skipped.tolist() == [0]


def test_adf_depends_on_the_order_and_ep_does_not() -> None:
    model = minka_model()
    result = expectation_propagation(model, shuffled(model, 100), 100, TOLERANCE)
    adf = result.progress.mean[0]
    assert adf.mean() == pytest.approx(2.58, abs=0.08) and adf.std() == pytest.approx(
        0.29, abs=0.05
    )
    assert result.progress.scale[0].mean() == pytest.approx(0.522, abs=0.015)
    evidence = result.progress.log_evidence[0]
    assert evidence.mean() == pytest.approx(-45.1, abs=0.2)
    assert evidence.std() == pytest.approx(0.7, abs=0.15)
    assert np.ptp(result.progress.mean[-1]) < 1e-10


def test_two_hundred_observations_have_a_second_fixed_point() -> None:
    """Some orders converge to an outlier, with a far lower log evidence."""
    model = minka_model(200)
    result = expectation_propagation(model, shuffled(model, 400, seed=1), 100, TOLERANCE)
    other = np.abs(result.progress.mean[-1] - exact_posterior(model).mean) > 1
    assert 0 < other.sum() < 40
    assert (
        np.ptp(result.progress.mean[-1][other]) < 1e-8 and np.isfinite(result.passes[other]).all()
    )
    assert result.progress.log_evidence[-1][other].max() < exact_posterior(model).log_evidence - 100


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
    step = 0 if power == 1 else -1
    assert result.progress.mean[step, 0] == pytest.approx(variance * x.sum())
    assert result.progress.scale[step, 0] == pytest.approx(np.sqrt(variance))
    assert result.progress.log_evidence[step, 0] == pytest.approx(evidence)


def test_the_evidence_of_adf_is_the_product_of_its_predictive_densities() -> None:
    model, order = minka_model(), shuffled(minka_model(), 1)[0]
    mean, variance, total = np.zeros(1), np.full(1, model.prior_variance), 0.0
    for column in order:
        moments = tilted_moments(model, np.array([column]), mean, variance)
        mean, variance = moments.mean, moments.variance
        total += moments.log_mass[0]
    result = expectation_propagation(model, order[None], 1, TOLERANCE)
    assert result.progress.log_evidence[0, 0] == pytest.approx(total)
    assert result.progress.mean[0] == pytest.approx(mean)
    assert result.progress.work.tolist() == [20] and np.isinf(result.passes).all()


@pytest.mark.parametrize("power", [1.0, 0.5, 2.0])
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 100.0), (2.0, 0.2)])
def test_moments_agree_with_quadrature(power: float, mean: float, variance: float) -> None:
    model = minka_model()
    found = tilted_moments(model, np.array([4]), np.array([mean]), np.array([variance]), power)
    scale = np.sqrt(variance)

    def density(theta: float, degree: int) -> float:
        factor = np.exp(model.log_factors(np.array([[theta]]))[0, 4])
        return float(theta**degree * norm.pdf(theta, mean, scale) * factor**power)

    limits, points = (mean - 12 * scale, mean + 12 * scale), [model.observations[4], mean]
    mass, first, second = (
        quad(density, *limits, (k,), points=points, limit=300)[0] for k in range(3)
    )
    assert found.log_mass[0] == pytest.approx(np.log(mass), abs=1e-8)
    assert found.mean[0] == pytest.approx(first / mass, abs=1e-7)
    assert found.variance[0] == pytest.approx(second / mass - (first / mass) ** 2, abs=1e-6)


@pytest.mark.parametrize("power", [1.0, 0.3])
def test_at_a_fixed_point_tilted_moments_equal_the_global_moments(power: float) -> None:
    model = minka_model()
    result = expectation_propagation(model, in_order(model), 200, TOLERANCE, power)
    mean, variance = result.progress.mean[-1, 0], result.progress.scale[-1, 0] ** 2
    total = NaturalGaussian.from_moments(np.full(20, mean), np.full(20, variance))
    cavity = total.multiply(
        NaturalGaussian(result.sites.precision[0], result.sites.shift[0]), -power
    )
    moments = tilted_moments(model, np.arange(20), cavity.mean, cavity.variance, power)
    assert moments.mean == pytest.approx(mean, abs=1e-8)
    assert moments.variance == pytest.approx(variance, abs=1e-8)


def test_power_ep_converges_to_gaussian_vi_as_the_power_vanishes() -> None:
    model = minka_model()
    limit = gaussian_vi(model, 2.5, 0.5)
    result = expectation_propagation(model, in_order(model), 200, TOLERANCE, 1e-3)
    assert result.progress.mean[-1, 0] == pytest.approx(limit.mean, abs=1e-5)
    assert result.progress.scale[-1, 0] == pytest.approx(limit.scale, abs=1e-5)
    assert result.progress.log_evidence[-1, 0] == pytest.approx(limit.bound, abs=1e-5)


def test_vectorised_runs_equal_single_runs() -> None:
    model = minka_model()
    orders = shuffled(model, 3)
    both = expectation_propagation(model, orders, 5, 1e-300)
    for run, order in enumerate(orders):
        alone = expectation_propagation(model, order[None], 5, 1e-300)
        np.testing.assert_array_equal(both.progress.mean[:, run], alone.progress.mean[:, 0])
        np.testing.assert_array_equal(both.sites.precision[run], alone.sites.precision[0])


def test_an_update_without_a_proper_cavity_is_skipped() -> None:
    model = minka_model()
    total = NaturalGaussian(np.array([2.0, 2.0]), np.array([1.0, 1.0]))
    old = NaturalGaussian(np.array([3.0, 1.0]), np.array([0.5, 0.5]))
    update = _update_site(model, np.array([0, 0]), total, old, 1.0)[1]
    assert update.is_valid.tolist() == [False, True]
    assert update.site.precision[0] == 3.0 and update.site.shift[0] == 0.5
    assert update.site.precision[1] != 1.0
