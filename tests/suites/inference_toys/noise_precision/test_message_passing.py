"""ADF, EP and power EP: known answers, moments by brute force, orders, refusals."""

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
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import ascend
from bnnbench.suites.inference_toys.noise_precision.exact import factorised_posterior, posterior
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    Rules,
    filtered,
    filtered_again,
    propagate,
    repeated_factor,
    start,
    sweep,
)
from bnnbench.suites.inference_toys.noise_precision.model import (
    Line,
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
from bnnbench.suites.inference_toys.noise_precision.tables import CORRECTED, PRINTED

EXACT_K = QuadratureNormaliser()
PRIOR = Belief(2.0, 1.0, 0.0, 1.0)


def line_of(rows: int = 20) -> Line:
    return simulate(rows, 0.8, 4.0, 0, PRIOR)


def orders_of(rows: int, runs: int = 1) -> np.ndarray:
    """The order of the data, then random ones."""
    random, own = np.random.default_rng(0), np.arange(rows)
    return np.stack([own, *(random.permutation(own) for _ in range(runs - 1))])


JOINT = Rules(gaussian_normaliser, CORRECTED, with_weight=True)
JOINT_EXACT = Rules(EXACT_K, CORRECTED, with_weight=True)
FACTORISED = Rules(gaussian_normaliser, CORRECTED, with_weight=False)
FACTORISED_EXACT = Rules(EXACT_K, CORRECTED, with_weight=False)


def test_filtering_the_joint_target_is_on_record() -> None:
    q = filtered(line_of(), orders_of(20), JOINT).belief.member(0)
    assert (q.mean, q.std) == pytest.approx((3.9405, 1.1100), abs=5e-5)
    assert (q.loc, q.weight_std) == pytest.approx((0.7244, 0.1136), abs=5e-5)
    means = filtered(line_of(), orders_of(20, 51), JOINT).belief.mean[1:]
    assert means.mean() == pytest.approx(4.04, abs=0.06) and 0.2 < means.std() < 0.32


@pytest.mark.parametrize(
    ("rules", "mean", "std"),
    [
        (JOINT, 4.1071, 1.1569),
        (JOINT_EXACT, 4.0723, 1.2056),
        (FACTORISED, 3.6591, 1.4449),
        (FACTORISED_EXACT, 3.5376, 1.4802),
    ],
)
def test_propagation_is_on_record_and_knows_no_order(rules: Rules, mean: float, std: float) -> None:
    found = propagate(line_of(), orders_of(20, 4), rules, 100)
    assert found.last.belief.mean == pytest.approx(np.full(4, mean), abs=5e-5)
    assert found.last.belief.std == pytest.approx(np.full(4, std), abs=5e-5)
    assert np.ptp(found.last.belief.mean) < 1e-8 and not found.last.refused.any()
    assert (found.passes < 15).all()


def test_propagation_keeps_the_weight_on_record() -> None:
    q = propagate(line_of(), orders_of(20), JOINT, 100).last.belief.member(0)
    assert (q.loc, q.weight_std) == pytest.approx((0.7240, 0.0953), abs=5e-5)


def test_filtering_the_factorised_target_is_on_record() -> None:
    means = [
        float(filtered(line_of(), orders_of(20), rules).belief.mean[0])
        for rules in (FACTORISED, FACTORISED_EXACT)
    ]
    assert means == pytest.approx([3.647, 3.542], abs=5e-4)
    spread = filtered(line_of(), orders_of(20, 101), FACTORISED_EXACT).belief.mean[1:]
    assert (spread.mean(), spread.std()) == pytest.approx((3.55, 0.011), abs=4e-3)


@pytest.mark.parametrize("normaliser", [gaussian_normaliser, EXACT_K])
@pytest.mark.parametrize("with_weight", [True, False])
def test_as_printed_every_update_is_refused(normaliser: object, with_weight: bool) -> None:
    rules = Rules(normaliser, PRINTED, with_weight)  # type: ignore[arg-type]
    found = filtered(line_of(), orders_of(20, 3), rules)
    assert (found.refused == 20).all()
    assert found.belief.mean == pytest.approx(2.0) and found.belief.std == pytest.approx(2**0.5)
    assert not found.sites.any()


def tilted_integral(belief: Belief, x: float, y: float, power: float, what: object) -> float:
    """The integral of `what(precision, weight)` times belief times a factor's power, on a mesh."""
    log_precision = np.linspace(-12, 4, 1601)[:, None]
    weight = belief.loc + belief.weight_std * np.linspace(-9, 9, 601)
    precision = np.exp(log_precision)
    heights = stats.gamma.pdf(precision, belief.shape, scale=1 / belief.rate) * precision
    heights = heights * stats.norm.pdf(weight, belief.loc, belief.weight_std)
    heights = heights * stats.norm.pdf(y, weight * x, precision**-0.5) ** power
    inner = np.trapezoid(heights * what(precision, weight), weight)  # type: ignore[operator]
    return float(np.trapezoid(inner, log_precision[:, 0]))


@pytest.mark.parametrize("power", [1.0, 0.4])
def test_exact_normalisers_match_the_moments_of_a_double_integral(power: float) -> None:
    belief, x, y = Belief(4.0, 2.0, 0.5, 0.3), -1.5, 0.7
    stacked = belief.stacked(1)
    tilted = QuadratureNormaliser(power)(stacked, np.array([x]), np.array([y]))
    new = project(stacked, tilted, CORRECTED, with_weight=True).member(0)
    total = tilted_integral(belief, x, y, power, lambda g, w: 1.0)
    assert float(tilted.log_normalisers[0][0]) == pytest.approx(np.log(total), abs=1e-7)
    moments = {
        "mean": (new.mean, lambda g, w: g),
        "square": (new.std**2 + new.mean**2, lambda g, w: g * g),
        "weight": (new.loc, lambda g, w: w),
        "weight square": (new.variance + new.loc**2, lambda g, w: w * w),
    }
    for ours, what in moments.values():
        assert ours == pytest.approx(tilted_integral(belief, x, y, power, what) / total, rel=1e-6)


def test_the_gaussian_normaliser_is_the_last_line_of_its_equation() -> None:
    belief, x, y = Belief(4.0, 2.0, 0.5, 0.3).stacked(1), np.array([-1.5]), np.array([0.7])
    tilted = gaussian_normaliser(belief, x, y)
    for more, log_k in enumerate(tilted.log_normalisers):
        scale = np.sqrt(x**2 * 0.3 + 2.0 / (4.0 + more - 1))
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
    """An input of zero says nothing of the weight, and its factor is a Gamma's."""
    line = Line(np.zeros(3), np.array([0.4, -0.9, 0.1]), PRIOR)
    found = filtered(line, orders_of(3), JOINT_EXACT)
    q = found.belief.member(0)
    squares = float(line.targets @ line.targets)
    assert (q.shape, q.rate) == pytest.approx((2 + 1.5, 1 + squares / 2))
    assert (q.loc, q.variance) == pytest.approx((0, 1))


def test_evidence_of_one_exact_pass_and_of_rest() -> None:
    exact = posterior(line_of())
    found = propagate(line_of(), orders_of(20), JOINT_EXACT, 100)
    assert found.log_evidences[-1, 0] == pytest.approx(exact.log_evidence, abs=5e-3)
    factorised = propagate(line_of(), orders_of(20), FACTORISED_EXACT, 100)
    target = factorised_posterior(line_of())
    assert factorised.log_evidences[-1, 0] == pytest.approx(target.log_evidence, abs=5e-3)
    single = simulate(1, 0.8, 4.0, 0, PRIOR)  # one factor: its normaliser is the evidence
    once = filtered(single, orders_of(1), JOINT_EXACT)
    assert once.log_included[0] == pytest.approx(posterior(single).log_evidence, abs=1e-9)


def test_the_energy_may_rise() -> None:
    found = propagate(line_of(), orders_of(20), JOINT, 100)
    assert np.diff(found.log_evidences[:, 0]).min() < -5e-3


def test_a_cavity_that_is_no_distribution_is_passed_over_and_counted() -> None:
    line = line_of(3)
    state = start(line, 1)
    state.sites[0, 1] = (1.5, 0.0, 0.0, 0.0)  # taken out, it would leave a shape of 0.5
    after = sweep(line, state, np.array([[1]]), JOINT)
    assert after.refused == 1 and after.belief.natural() == pytest.approx(state.belief.natural())
    assert after.sites == pytest.approx(state.sites)
    assert sweep(line, start(line, 1), np.array([[1]]), JOINT).refused == 0


def test_runs_of_a_stack_do_not_touch_each_other() -> None:
    orders = orders_of(20, 3)
    together = propagate(line_of(), orders, JOINT_EXACT, 3).last.belief
    alone = propagate(line_of(), orders[2:], JOINT_EXACT, 3).last.belief
    assert together.member(2) == alone.member(0)


def test_power_ep_leads_from_coordinate_ascent_to_ep() -> None:
    line, powers = line_of(), np.array([1e-4, 0.5, 1.0])
    rules = Rules(QuadratureNormaliser(powers), CORRECTED, True, powers)
    found = propagate(line, np.tile(np.arange(20), (3, 1)), rules, 200)
    q, vi = found.last.belief, ascend(line, CORRECTED)
    assert q.mean[0] == pytest.approx(vi.belief.mean, rel=1e-5)
    assert q.std[0] == pytest.approx(vi.belief.std, rel=1e-4)
    assert found.log_evidences[-1, 0] == pytest.approx(vi.bounds[-1], abs=1e-4)
    ep = propagate(line, orders_of(20), JOINT_EXACT, 100).last.belief
    assert (q.mean[2], q.std[2]) == pytest.approx((ep.mean[0], ep.std[0]), rel=1e-9)
    assert q.std[0] < q.std[1] < q.std[2]


def test_black_box_alpha_starts_at_the_bound_and_its_optimum() -> None:
    line, vi = line_of(), ascend(line_of(), CORRECTED)
    belief = Belief(9.0, 2.0, 0.6, 0.02)
    bound = evidence_lower_bound(line, belief)
    assert log_evidence(line, belief, 1e-5) == pytest.approx(bound, abs=1e-3)
    found, evidence = black_box_alpha(line, 1e-3, PRIOR)
    assert (found.mean, found.std) == pytest.approx((vi.belief.mean, vi.belief.std), rel=1e-3)
    assert evidence == pytest.approx(vi.bounds[-1], abs=2e-3)


def test_tied_factors_do_not_approach_those_of_ep_with_more_data() -> None:
    """At power 1/2 the weight's deviation goes to the square root of 2 of the right one."""
    ratios = []
    for rows in (20, 100):
        line = line_of(rows)
        found = black_box_alpha(line, 0.5, ascend(line, CORRECTED).belief)[0]
        ratios.append(found.weight_std / posterior(line).weight_std)
    assert 1.05 < ratios[0] < ratios[1] < np.sqrt(2)


def test_the_same_factor_again_and_again_collapses() -> None:
    line = line_of()
    x = line.inputs[0]
    one, many = repeated_factor(line, 4.0, 0, 1), repeated_factor(line, 4.0, 0, 20)
    assert 1 / many.variance - 1 == pytest.approx(20 * (1 / one.variance - 1))
    assert many.loc == pytest.approx(line.targets[0] / x, abs=5e-3)  # the factor's own mode
    grid = np.linspace(-1, 3, 4001)
    density = stats.norm.pdf(grid) * stats.norm.pdf(line.targets[0], grid * x, 0.5) ** 20
    mean = np.trapezoid(grid * density, grid) / np.trapezoid(density, grid)
    assert many.loc == pytest.approx(mean, abs=1e-8)
    stds = [float(b.std[0]) for b in filtered_again(line, np.arange(20), JOINT, 10)]
    assert all(b < a for a, b in pairwise(stds)) and stds[-1] < 0.55
