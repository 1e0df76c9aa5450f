"""ADF, EP and power EP: known values, moments by quadrature, orders, skipped updates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bnnbench.suites.inference_toys.expectation_propagation import ep_pass, flat_sites
from bnnbench.suites.inference_toys.maths import simulate_line
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    LikelihoodFactors,
    black_box_alpha,
    gaussian_normaliser,
    project,
    quadrature_normaliser,
    run_adf,
    run_expectation_propagation,
    tied_log_evidence,
    tied_std_of_weight,
)
from bnnbench.suites.inference_toys.noise_precision.model import (
    Belief,
    LinearModel,
    evidence_lower_bound,
    exact_posterior,
    run_cavi,
)

MakeModel = Callable[..., LinearModel]


def orders_of(rows: int, runs: int = 1) -> np.ndarray:
    """Return the order of the data and random orders."""
    random, data_order = np.random.default_rng(0), np.arange(rows)
    return np.stack([data_order, *(random.permutation(data_order) for _ in range(runs - 1))])


@pytest.mark.parametrize(
    ("exact", "mean", "std"), [(False, 4.1071, 1.1569), (True, 4.0723, 1.2056)]
)
def test_ep_has_known_values_and_does_not_depend_on_the_order(
    model: LinearModel, exact: bool, mean: float, std: float
) -> None:
    result = run_expectation_propagation(LikelihoodFactors(model, exact), orders_of(20, 4), 100)
    q = result.last.q
    assert q.mean == pytest.approx(np.full(4, mean), abs=5e-5)
    assert q.std == pytest.approx(np.full(4, std), abs=5e-5)
    assert np.ptp(q.mean) < 1e-8 and not result.last.skipped.any()
    assert (result.passes < 15).all()
    if exact:
        evidence = exact_posterior(model).log_evidence
        assert result.estimates[-1, -1] == pytest.approx(np.full(4, evidence), abs=5e-3)
    else:
        weight = q.at(0)
        moments = (weight.weight_mean, weight.weight_std)
        assert moments == pytest.approx((0.7240, 0.0953), abs=5e-5)


@pytest.mark.parametrize("exact", [False, True])
def test_as_printed_every_update_is_skipped(model: LinearModel, exact: bool) -> None:
    state = run_adf(LikelihoodFactors(model, exact, printed=True), orders_of(20, 3))
    assert (state.skipped == 20).all() and not state.sites.any()
    assert state.q.mean == pytest.approx(2.0) and state.q.std == pytest.approx(2**0.5)


def tilted_integral(belief: Belief, x: float, y: float, power: float, statistic: Any) -> float:
    """Integrate `statistic(precision, weight)` times belief times a power of a factor on a grid."""
    log_precision = np.linspace(-12, 4, 1601)[:, None]
    weight = belief.weight_mean + belief.weight_std * np.linspace(-9, 9, 601)
    precision = np.exp(log_precision)
    density = stats.gamma.pdf(precision, belief.shape, scale=1 / belief.rate) * precision
    density = density * stats.norm.pdf(weight, belief.weight_mean, belief.weight_std)
    density = density * stats.norm.pdf(y, weight * x, precision**-0.5) ** power
    inner = np.trapezoid(density * statistic(precision, weight), weight)
    return float(np.trapezoid(inner, log_precision[:, 0]))


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_exact_normalisers_match_the_moments_of_a_double_integral(power: float) -> None:
    belief, x, y = Belief(4.0, 2.0, 0.5, 0.3), -1.5, 0.7
    stack = belief.repeat(1)
    tilted = quadrature_normaliser(stack, np.array([x]), np.array([y]), power)
    new = project(stack, tilted).at(0)
    total = tilted_integral(belief, x, y, power, lambda g, w: 1.0)
    assert float(tilted.log_normalisers[0][0]) == pytest.approx(np.log(total), abs=1e-7)
    for ours, statistic in (
        (new.mean, lambda g, w: g),
        (new.std**2 + new.mean**2, lambda g, w: g * g),
        (new.weight_mean, lambda g, w: w),
        (new.variance + new.weight_mean**2, lambda g, w: w * w),
    ):
        expected = tilted_integral(belief, x, y, power, statistic) / total
        assert ours == pytest.approx(expected, rel=1e-6)


def test_the_gaussian_normaliser_is_the_last_line_of_its_equation() -> None:
    belief, x, y = Belief(4.0, 2.0, 0.5, 0.3).repeat(1), np.array([-1.5]), np.array([0.7])
    tilted = gaussian_normaliser(belief, x, y)
    for increment, log_k in enumerate(tilted.log_normalisers):
        scale = np.sqrt(x**2 * 0.3 + 2.0 / (4.0 + increment - 1))
        assert log_k == pytest.approx(stats.norm(x * 0.5, scale).logpdf(y))
    step = 1e-6
    for name, slope in (
        ("weight_mean", tilted.slope_mean),
        ("variance", tilted.slope_variance),
    ):
        low, high = (
            gaussian_normaliser(replace(belief, **{name: vars(belief)[name] + move}), x, y)
            for move in (-step, step)
        )
        rise = (high.log_normalisers[0] - low.log_normalisers[0]) / (2 * step)
        assert slope == pytest.approx(rise, rel=1e-6)


def test_a_conjugate_factor_is_included_exactly(prior: Belief) -> None:
    """An input of zero does not involve the weight; its factor is a Gamma's."""
    model = LinearModel(np.zeros(3), np.array([0.4, -0.9, 0.1]), prior)
    q = run_adf(LikelihoodFactors(model, exact=True), orders_of(3)).q.at(0)
    squares = float(model.targets @ model.targets)
    assert (q.shape, q.rate) == pytest.approx((2 + 1.5, 1 + squares / 2))
    assert (q.weight_mean, q.variance) == pytest.approx((0, 1))


def test_an_improper_cavity_is_skipped_and_counted(make_model: MakeModel) -> None:
    model, order = make_model(3), np.array([[1]])
    state = flat_sites(model.prior.repeat(1), 3)
    assert ep_pass(state, order, LikelihoodFactors(model).update).skipped == 0
    state.sites[0, 1] = (1.5, 0.0, 0.0, 0.0)  # taken out, it would leave a shape of 0.5
    after = ep_pass(state, order, LikelihoodFactors(model).update)
    assert after.skipped == 1 and after.q.natural() == pytest.approx(state.q.natural())
    assert after.sites == pytest.approx(state.sites)


@pytest.mark.slow
def test_power_ep_interpolates_between_coordinate_ascent_and_ep(model: LinearModel) -> None:
    powers = np.array([1e-4, 0.5, 1.0])
    factors = LikelihoodFactors(model, exact=True, power=powers)
    result = run_expectation_propagation(factors, np.tile(np.arange(20), (3, 1)), 200)
    q, vi = result.last.q, run_cavi(model)[-1]
    assert q.mean[0] == pytest.approx(vi.mean, rel=1e-5)
    assert q.std[0] == pytest.approx(vi.std, rel=1e-4)
    bound = evidence_lower_bound(model, vi)
    assert result.estimates[-1, -1, 0] == pytest.approx(bound, abs=1e-4)
    ep = run_expectation_propagation(
        LikelihoodFactors(model, exact=True), orders_of(20), 100
    ).last.q
    assert (q.mean[2], q.std[2]) == pytest.approx((ep.mean[0], ep.std[0]), rel=1e-9)
    assert q.std[0] < q.std[1] < q.std[2]


@pytest.mark.slow
def test_black_box_alpha_at_low_power_is_variational_inference(
    model: LinearModel, prior: Belief
) -> None:
    vi, belief = run_cavi(model)[-1], Belief(9.0, 2.0, 0.6, 0.02)
    bound = evidence_lower_bound(model, belief)
    assert tied_log_evidence(model, belief, 1e-5) == pytest.approx(bound, abs=1e-3)
    result, evidence = black_box_alpha(model, 1e-3, prior)
    assert (result.mean, result.std) == pytest.approx((vi.mean, vi.std), rel=1e-3)
    assert evidence == pytest.approx(evidence_lower_bound(model, vi), abs=2e-3)


def test_equal_sites_with_known_noise() -> None:
    """Exact without powers; with powers, too wide by a factor that more data do not remove."""
    prior = Belief(2.0, 1.0, 0.0, 1.0)
    few, many = (LinearModel(*simulate_line(n, 0.8, 4.0, 0), prior) for n in (20, 20_000))
    std, exact = tied_std_of_weight(few, 4.0, power=1e-4)
    assert std == pytest.approx(exact, rel=1e-3)
    assert exact == pytest.approx((1 + 4.0 * few.products[0]) ** -0.5)
    std, exact = tied_std_of_weight(many, 4.0, power=0.5)
    assert std / exact == pytest.approx(2**0.5, rel=0.02)
