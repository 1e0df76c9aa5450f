"""ADF, EP and power EP: known values, moments by quadrature, orders, skipped updates."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.black_box_alpha import (
    black_box_alpha,
    log_evidence,
)
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.noise_precision.exact import (
    exact_posterior,
    factorised_posterior,
)
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    UpdateSettings,
    ep_pass,
    include_repeatedly,
    initial_state,
    repeat_adf,
    run_adf,
    run_ep,
)
from bnnbench.suites.inference_toys.noise_precision.model import (
    LinearModel,
    evidence_lower_bound,
    simulate,
)
from bnnbench.suites.inference_toys.noise_precision.moment_matching import (
    QuadratureNormaliser,
    gaussian_normaliser,
    matched_rate,
    matched_shape,
    project,
)
from bnnbench.suites.inference_toys.noise_precision.names import CORRECTED, PRINTED

EXACT_K = QuadratureNormaliser()
PRIOR = Belief(2.0, 1.0, 0.0, 1.0)


def make_model(rows: int = 20) -> LinearModel:
    return simulate(rows, 0.8, 4.0, 0, PRIOR)


def orders_of(rows: int, runs: int = 1) -> np.ndarray:
    """Return the order of the data and random orders."""
    random, data_order = np.random.default_rng(0), np.arange(rows)
    return np.stack([data_order, *(random.permutation(data_order) for _ in range(runs - 1))])


JOINT = UpdateSettings(gaussian_normaliser, CORRECTED, with_weight=True)
JOINT_EXACT = UpdateSettings(EXACT_K, CORRECTED, with_weight=True)
FACTORISED = UpdateSettings(gaussian_normaliser, CORRECTED, with_weight=False)
FACTORISED_EXACT = UpdateSettings(EXACT_K, CORRECTED, with_weight=False)


def test_known_values_of_adf_on_the_joint_target() -> None:
    q = run_adf(make_model(), orders_of(20), JOINT).belief.at(0)
    assert (q.mean, q.std) == pytest.approx((3.9405, 1.1100), abs=5e-5)
    assert (q.loc, q.weight_std) == pytest.approx((0.7244, 0.1136), abs=5e-5)
    means = run_adf(make_model(), orders_of(20, 51), JOINT).belief.mean[1:]
    assert means.mean() == pytest.approx(4.04, abs=0.06) and 0.2 < means.std() < 0.32


@pytest.mark.parametrize(
    ("settings", "mean", "std"),
    [
        (JOINT, 4.1071, 1.1569),
        (JOINT_EXACT, 4.0723, 1.2056),
        (FACTORISED, 3.6591, 1.4449),
        (FACTORISED_EXACT, 3.5376, 1.4802),
    ],
)
def test_ep_has_known_values_and_does_not_depend_on_the_order(
    settings: UpdateSettings, mean: float, std: float
) -> None:
    result = run_ep(make_model(), orders_of(20, 4), settings, 100)
    assert result.last.belief.mean == pytest.approx(np.full(4, mean), abs=5e-5)
    assert result.last.belief.std == pytest.approx(np.full(4, std), abs=5e-5)
    assert np.ptp(result.last.belief.mean) < 1e-8 and not result.last.skipped.any()
    assert (result.passes < 15).all()


def test_ep_has_known_values_of_the_weight() -> None:
    q = run_ep(make_model(), orders_of(20), JOINT, 100).last.belief.at(0)
    assert (q.loc, q.weight_std) == pytest.approx((0.7240, 0.0953), abs=5e-5)


def test_known_values_of_adf_on_the_factorised_target() -> None:
    means = [
        float(run_adf(make_model(), orders_of(20), settings).belief.mean[0])
        for settings in (FACTORISED, FACTORISED_EXACT)
    ]
    assert means == pytest.approx([3.647, 3.542], abs=5e-4)
    means = run_adf(make_model(), orders_of(20, 101), FACTORISED_EXACT).belief.mean[1:]
    assert (means.mean(), means.std()) == pytest.approx((3.55, 0.011), abs=4e-3)


@pytest.mark.parametrize("normaliser", [gaussian_normaliser, EXACT_K])
@pytest.mark.parametrize("with_weight", [True, False])
def test_as_printed_every_update_is_skipped(normaliser: object, with_weight: bool) -> None:
    settings = UpdateSettings(normaliser, PRINTED, with_weight)  # type: ignore[arg-type]
    result = run_adf(make_model(), orders_of(20, 3), settings)
    assert (result.skipped == 20).all()
    assert result.belief.mean == pytest.approx(2.0) and result.belief.std == pytest.approx(2**0.5)
    assert not result.sites.any()


def tilted_integral(belief: Belief, x: float, y: float, power: float, statistic: object) -> float:
    """Integrate `statistic(precision, weight)` times belief times a power of a factor on a grid."""
    log_precision = np.linspace(-12, 4, 1601)[:, None]
    weight = belief.loc + belief.weight_std * np.linspace(-9, 9, 601)
    precision = np.exp(log_precision)
    density = stats.gamma.pdf(precision, belief.shape, scale=1 / belief.rate) * precision
    density = density * stats.norm.pdf(weight, belief.loc, belief.weight_std)
    density = density * stats.norm.pdf(y, weight * x, precision**-0.5) ** power
    inner = np.trapezoid(density * statistic(precision, weight), weight)  # type: ignore[operator]
    return float(np.trapezoid(inner, log_precision[:, 0]))


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_exact_normalisers_match_the_moments_of_a_double_integral(power: float) -> None:
    belief, x, y = Belief(4.0, 2.0, 0.5, 0.3), -1.5, 0.7
    repeat = belief.repeat(1)
    tilted = QuadratureNormaliser(power)(repeat, np.array([x]), np.array([y]))
    new = project(repeat, tilted, CORRECTED, with_weight=True).at(0)
    total = tilted_integral(belief, x, y, power, lambda g, w: 1.0)
    assert float(tilted.log_normalisers[0][0]) == pytest.approx(np.log(total), abs=1e-7)
    moments = {
        "mean": (new.mean, lambda g, w: g),
        "square": (new.std**2 + new.mean**2, lambda g, w: g * g),
        "weight": (new.loc, lambda g, w: w),
        "weight square": (new.variance + new.loc**2, lambda g, w: w * w),
    }
    for ours, statistic in moments.values():
        assert ours == pytest.approx(
            tilted_integral(belief, x, y, power, statistic) / total, rel=1e-6
        )


def test_the_gaussian_normaliser_is_the_last_line_of_its_equation() -> None:
    belief, x, y = Belief(4.0, 2.0, 0.5, 0.3).repeat(1), np.array([-1.5]), np.array([0.7])
    tilted = gaussian_normaliser(belief, x, y)
    for increment, log_k in enumerate(tilted.log_normalisers):
        scale = np.sqrt(x**2 * 0.3 + 2.0 / (4.0 + increment - 1))
        assert log_k == pytest.approx(stats.norm(x * 0.5, scale).logpdf(y))
    step = 1e-6
    for name, slope in (("loc", tilted.slope_loc), ("variance", tilted.slope_variance)):
        moved = [
            gaussian_normaliser(Belief(**{**vars(belief), name: vars(belief)[name] + sign}), x, y)
            for sign in (step, -step)
        ]
        rise = (moved[0].log_normalisers[0] - moved[1].log_normalisers[0]) / (2 * step)
        assert slope == pytest.approx(rise, rel=1e-6)


def test_shape_and_rate_have_the_tilted_mean_and_variance() -> None:
    belief = Belief(4.0, 2.0, 0.5, 0.3)
    logs = (-1.0, -0.8, -0.7)
    shape, rate = matched_shape(belief, logs, CORRECTED), matched_rate(belief, logs)
    first = np.exp(0.2) * 4 / 2
    second = np.exp(0.3) * 4 * 5 / 4
    assert shape / rate == pytest.approx(first)
    assert shape / rate**2 == pytest.approx(second - first**2)
    assert matched_shape(belief, logs, PRINTED) != pytest.approx(shape)


def test_a_conjugate_factor_is_included_exactly() -> None:
    """An input of zero does not involve the weight; its factor is a Gamma's."""
    model = LinearModel(np.zeros(3), np.array([0.4, -0.9, 0.1]), PRIOR)
    result = run_adf(model, orders_of(3), JOINT_EXACT)
    q = result.belief.at(0)
    squares = float(model.targets @ model.targets)
    assert (q.shape, q.rate) == pytest.approx((2 + 1.5, 1 + squares / 2))
    assert (q.loc, q.variance) == pytest.approx((0, 1))


def test_evidence_after_one_pass_and_at_convergence() -> None:
    exact = exact_posterior(make_model())
    result = run_ep(make_model(), orders_of(20), JOINT_EXACT, 100)
    assert result.log_evidences[-1, 0] == pytest.approx(exact.log_evidence, abs=5e-3)
    factorised = run_ep(make_model(), orders_of(20), FACTORISED_EXACT, 100)
    target = factorised_posterior(make_model())
    assert factorised.log_evidences[-1, 0] == pytest.approx(target.log_evidence, abs=5e-3)
    single = simulate(1, 0.8, 4.0, 0, PRIOR)  # one factor: its normaliser is the evidence
    once = run_adf(single, orders_of(1), JOINT_EXACT)
    assert once.log_normaliser_sum[0] == pytest.approx(
        exact_posterior(single).log_evidence, abs=1e-9
    )


def test_the_energy_can_increase() -> None:
    result = run_ep(make_model(), orders_of(20), JOINT, 100)
    assert np.diff(result.log_evidences[:, 0]).min() < -5e-3


def test_an_improper_cavity_is_skipped_and_counted() -> None:
    model = make_model(3)
    state = initial_state(model, 1)
    state.sites[0, 1] = (1.5, 0.0, 0.0, 0.0)  # taken out, it would leave a shape of 0.5
    after = ep_pass(model, state, np.array([[1]]), JOINT)
    assert after.skipped == 1 and after.belief.natural() == pytest.approx(state.belief.natural())
    assert after.sites == pytest.approx(state.sites)
    assert ep_pass(model, initial_state(model, 1), np.array([[1]]), JOINT).skipped == 0


def test_stacked_runs_do_not_affect_each_other() -> None:
    orders = orders_of(20, 3)
    together = run_ep(make_model(), orders, JOINT_EXACT, 3).last.belief
    alone = run_ep(make_model(), orders[2:], JOINT_EXACT, 3).last.belief
    assert together.at(2) == alone.at(0)


def test_power_ep_interpolates_between_coordinate_ascent_and_ep() -> None:
    model, powers = make_model(), np.array([1e-4, 0.5, 1.0])
    settings = UpdateSettings(QuadratureNormaliser(powers), CORRECTED, True, powers)
    result = run_ep(model, np.tile(np.arange(20), (3, 1)), settings, 200)
    q, vi = result.last.belief, run_cavi(model, CORRECTED)
    assert q.mean[0] == pytest.approx(vi.belief.mean, rel=1e-5)
    assert q.std[0] == pytest.approx(vi.belief.std, rel=1e-4)
    assert result.log_evidences[-1, 0] == pytest.approx(vi.bounds[-1], abs=1e-4)
    ep = run_ep(model, orders_of(20), JOINT_EXACT, 100).last.belief
    assert (q.mean[2], q.std[2]) == pytest.approx((ep.mean[0], ep.std[0]), rel=1e-9)
    assert q.std[0] < q.std[1] < q.std[2]


def test_black_box_alpha_at_low_power_is_variational_inference() -> None:
    model, vi = make_model(), run_cavi(make_model(), CORRECTED)
    belief = Belief(9.0, 2.0, 0.6, 0.02)
    bound = evidence_lower_bound(model, belief)
    assert log_evidence(model, belief, 1e-5) == pytest.approx(bound, abs=1e-3)
    result, evidence = black_box_alpha(model, 1e-3, PRIOR)
    assert (result.mean, result.std) == pytest.approx((vi.belief.mean, vi.belief.std), rel=1e-3)
    assert evidence == pytest.approx(vi.bounds[-1], abs=2e-3)


def test_tied_factors_do_not_approach_ep_with_more_data() -> None:
    """At power 1/2, the ratio of standard deviations of the weight approaches sqrt(2)."""
    ratios = []
    for rows in (20, 100):
        model = make_model(rows)
        result = black_box_alpha(model, 0.5, run_cavi(model, CORRECTED).belief)[0]
        ratios.append(result.weight_std / exact_posterior(model).weight_std)
    assert 1.05 < ratios[0] < ratios[1] < np.sqrt(2)


def test_the_same_factor_repeatedly_collapses_the_belief() -> None:
    model = make_model()
    x = model.inputs[0]
    one, many = include_repeatedly(model, 4.0, 0, 1), include_repeatedly(model, 4.0, 0, 20)
    assert 1 / many.variance - 1 == pytest.approx(20 * (1 / one.variance - 1))
    assert many.loc == pytest.approx(model.targets[0] / x, abs=5e-3)  # the mode of the factor
    grid = np.linspace(-1, 3, 4001)
    density = stats.norm.pdf(grid) * stats.norm.pdf(model.targets[0], grid * x, 0.5) ** 20
    mean = np.trapezoid(grid * density, grid) / np.trapezoid(density, grid)
    assert many.loc == pytest.approx(mean, abs=1e-8)
    stds = [float(b.std[0]) for b in repeat_adf(model, np.arange(20), JOINT, 10)]
    assert all(b < a for a, b in pairwise(stds)) and stds[-1] < 0.55
