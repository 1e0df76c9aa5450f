"""ADF, EP and power EP: known fixed points, exact cases, and what a fixed point means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from bnnbench.suites.inference_toys.clutter.expectation_propagation import (
    _refine,
    expectation_propagation,
    tilted_moments,
)
from bnnbench.suites.inference_toys.clutter.gaussians import Natural
from bnnbench.suites.inference_toys.clutter.model import Clutter, exact_posterior, simulate
from bnnbench.suites.inference_toys.clutter.variational import nearest_gaussian

TOLERANCE = 1e-12


def minka(count: int = 20) -> Clutter:
    """The data of the experiment."""
    return Clutter(simulate(count, 2.0, 0.5, 10.0, seed=0)[0])


def in_order(model: Clutter) -> np.ndarray:
    return np.arange(len(model.observations))[None]


def shuffled(model: Clutter, runs: int, seed: int = 0) -> np.ndarray:
    orders = np.tile(in_order(model), (runs, 1))
    return np.random.default_rng(seed).permuted(orders, axis=1)


def test_the_known_fixed_point() -> None:
    model = minka()
    fit = expectation_propagation(model, in_order(model), 100, TOLERANCE)
    assert fit.progress.mean[-1, 0] == pytest.approx(2.5980, abs=5e-5)
    assert fit.progress.scale[-1, 0] == pytest.approx(0.4194, abs=5e-5)
    assert (fit.sites.precision < 0).sum() == 8
    assert fit.passes.tolist() == [11] and fit.skipped.tolist() == [0]


def test_adf_depends_on_the_order_and_ep_does_not() -> None:
    model = minka()
    fit = expectation_propagation(model, shuffled(model, 100), 100, TOLERANCE)
    adf = fit.progress.mean[0]
    assert adf.mean() == pytest.approx(2.58, abs=0.08) and adf.std() == pytest.approx(
        0.29, abs=0.05
    )
    assert fit.progress.scale[0].mean() == pytest.approx(0.522, abs=0.015)
    evidence = fit.progress.log_evidence[0]
    assert evidence.mean() == pytest.approx(-45.1, abs=0.2)
    assert evidence.std() == pytest.approx(0.7, abs=0.15)
    assert np.ptp(fit.progress.mean[-1]) < 1e-10


def test_two_hundred_observations_have_a_second_fixed_point() -> None:
    """Some orders end behind an outlier, at a far lower evidence, and stay there."""
    model = minka(200)
    fit = expectation_propagation(model, shuffled(model, 400, seed=1), 100, TOLERANCE)
    away = np.abs(fit.progress.mean[-1] - exact_posterior(model).mean) > 1
    assert 0 < away.sum() < 40
    assert np.ptp(fit.progress.mean[-1][away]) < 1e-8 and np.isfinite(fit.passes[away]).all()
    assert fit.progress.log_evidence[-1][away].max() < exact_posterior(model).log_evidence - 100


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_without_clutter_one_pass_is_exact(power: float) -> None:
    x = np.array([0.3, -1.2, 2.0, 0.9])
    model = Clutter(x, clutter_weight=1e-300, prior_variance=4.0)
    fit = expectation_propagation(model, in_order(model), 30, TOLERANCE, power)
    variance = 1 / (1 / 4 + len(x))
    evidence = sum(
        norm.logpdf(value, variance_before * x[:i].sum(), np.sqrt(1 + variance_before))
        for i, value in enumerate(x)
        for variance_before in [1 / (1 / 4 + i)]
    )
    step = 0 if power == 1 else -1
    assert fit.progress.mean[step, 0] == pytest.approx(variance * x.sum())
    assert fit.progress.scale[step, 0] == pytest.approx(np.sqrt(variance))
    assert fit.progress.log_evidence[step, 0] == pytest.approx(evidence)


def test_the_evidence_of_adf_is_the_product_of_its_predictions() -> None:
    model, order = minka(), shuffled(minka(), 1)[0]
    mean, variance, total = np.zeros(1), np.full(1, model.prior_variance), 0.0
    for column in order:
        moments = tilted_moments(model, np.array([column]), mean, variance)
        mean, variance = moments.mean, moments.variance
        total += moments.log_mass[0]
    fit = expectation_propagation(model, order[None], 1, TOLERANCE)
    assert fit.progress.log_evidence[0, 0] == pytest.approx(total)
    assert fit.progress.mean[0] == pytest.approx(mean)
    assert fit.progress.work.tolist() == [20] and np.isinf(fit.passes).all()


@pytest.mark.parametrize("power", [1.0, 0.5, 2.0])
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 100.0), (2.0, 0.2)])
def test_moments_are_those_of_quadrature(power: float, mean: float, variance: float) -> None:
    model = minka()
    found = tilted_moments(model, np.array([4]), np.array([mean]), np.array([variance]), power)
    scale = np.sqrt(variance)

    def density(theta: float, degree: int) -> float:
        factor = np.exp(model.log_factors(np.array([[theta]]))[0, 4])
        return float(theta**degree * norm.pdf(theta, mean, scale) * factor**power)

    ends, spots = (mean - 12 * scale, mean + 12 * scale), [model.observations[4], mean]
    mass, first, second = (quad(density, *ends, (k,), points=spots, limit=300)[0] for k in range(3))
    assert found.log_mass[0] == pytest.approx(np.log(mass), abs=1e-8)
    assert found.mean[0] == pytest.approx(first / mass, abs=1e-7)
    assert found.variance[0] == pytest.approx(second / mass - (first / mass) ** 2, abs=1e-6)


@pytest.mark.parametrize("power", [1.0, 0.3])
def test_at_a_fixed_point_every_tilted_density_has_the_moments_of_all(power: float) -> None:
    model = minka()
    fit = expectation_propagation(model, in_order(model), 200, TOLERANCE, power)
    mean, variance = fit.progress.mean[-1, 0], fit.progress.scale[-1, 0] ** 2
    total = Natural.of(np.full(20, mean), np.full(20, variance))
    cavity = total.plus(Natural(fit.sites.precision[0], fit.sites.shift[0]), -power)
    moments = tilted_moments(model, np.arange(20), cavity.mean, cavity.variance, power)
    assert moments.mean == pytest.approx(mean, abs=1e-8)
    assert moments.variance == pytest.approx(variance, abs=1e-8)


def test_power_ep_leads_to_the_gaussian_of_least_reverse_divergence() -> None:
    model = minka()
    nearest = nearest_gaussian(model, 2.5, 0.5)
    fit = expectation_propagation(model, in_order(model), 200, TOLERANCE, 1e-3)
    assert fit.progress.mean[-1, 0] == pytest.approx(nearest.mean, abs=1e-5)
    assert fit.progress.scale[-1, 0] == pytest.approx(nearest.scale, abs=1e-5)
    assert fit.progress.log_evidence[-1, 0] == pytest.approx(nearest.bound, abs=1e-5)


def test_runs_side_by_side_are_those_alone() -> None:
    model = minka()
    orders = shuffled(model, 3)
    both = expectation_propagation(model, orders, 5, 1e-300)
    for run, order in enumerate(orders):
        alone = expectation_propagation(model, order[None], 5, 1e-300)
        np.testing.assert_array_equal(both.progress.mean[:, run], alone.progress.mean[:, 0])
        np.testing.assert_array_equal(both.sites.precision[run], alone.sites.precision[0])


def test_an_update_without_a_valid_cavity_is_passed_over() -> None:
    model = minka()
    total = Natural(np.array([2.0, 2.0]), np.array([1.0, 1.0]))
    old = Natural(np.array([3.0, 1.0]), np.array([0.5, 0.5]))
    refined = _refine(model, np.array([0, 0]), total, old, 1.0)[1]
    assert refined.usable.tolist() == [False, True]
    assert refined.site.precision[0] == 3.0 and refined.site.shift[0] == 0.5
    assert refined.site.precision[1] != 1.0
