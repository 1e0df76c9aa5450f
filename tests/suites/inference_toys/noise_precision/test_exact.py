"""The exact answers, and what every approximation is measured by, against integrals by others."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from bnnbench.suites.inference_toys.noise_precision.belief import Belief
from bnnbench.suites.inference_toys.noise_precision.exact import (
    divergence,
    factorised_posterior,
    posterior,
)
from bnnbench.suites.inference_toys.noise_precision.log_normal import (
    LogNormal,
    log_normal_bound,
    log_normal_divergence,
)
from bnnbench.suites.inference_toys.noise_precision.model import (
    Line,
    evidence_lower_bound,
    log_joint,
    simulate,
)

PRIOR = Belief(2.0, 1.0, 0.0, 1.0)


def line_of(rows: int = 20) -> Line:
    return simulate(rows, 0.8, 4.0, 0, PRIOR)


def test_exact_answers_are_those_on_record() -> None:
    exact = posterior(line_of())
    assert exact.mean == pytest.approx(4.0645, abs=5e-5)
    assert exact.std == pytest.approx(1.1983, abs=5e-5)
    assert exact.weight_mean == pytest.approx(0.7275, abs=5e-5)
    assert exact.weight_std == pytest.approx(0.0952, abs=5e-5)
    assert exact.log_evidence == pytest.approx(-16.0127, abs=5e-5)
    factorised = factorised_posterior(line_of())
    assert factorised.mean == pytest.approx(3.5346, abs=5e-5)
    assert factorised.std == pytest.approx(1.4862, abs=5e-5)


def marginal(line: Line, precision: float) -> float:
    """`p(y | gamma)` from the joint Gaussian of all targets, which integrates the weight once."""
    x = line.inputs
    covariance = np.eye(len(x)) / precision + np.outer(x, x) * line.prior.variance
    return float(stats.multivariate_normal(x * line.prior.loc, covariance).pdf(line.targets))


@pytest.mark.parametrize("rows", [2, 5, 20])
def test_the_evidence_is_that_of_the_joint_gaussian_of_the_targets(rows: int) -> None:
    line = simulate(rows, 0.8, 4.0, 0, Belief(2.5, 0.7, -0.3, 0.6))
    prior = stats.gamma(line.prior.shape, scale=1 / line.prior.rate)
    moments = [
        integrate.quad(
            lambda g, k=k: g**k * prior.pdf(g) * marginal(line, g), 1e-6, 80, points=[1, 4, 10]
        )[0]
        for k in range(3)
    ]
    exact = posterior(line)
    assert exact.log_evidence == pytest.approx(np.log(moments[0]), abs=1e-7)
    assert exact.mean == pytest.approx(moments[1] / moments[0], rel=1e-6)
    assert exact.std**2 + exact.mean**2 == pytest.approx(moments[2] / moments[0], rel=1e-6)


def test_the_printed_target_lets_every_observation_have_a_weight_of_its_own() -> None:
    line = line_of(5)
    prior = stats.gamma(line.prior.shape, scale=1 / line.prior.rate)

    def heights(precision: float) -> float:
        scale = np.sqrt(line.inputs**2 + 1 / precision)
        return float(prior.pdf(precision) * stats.norm(0, scale).pdf(line.targets).prod())

    total = integrate.quad(heights, 1e-6, 80, points=[1, 4, 10])[0]
    assert factorised_posterior(line).log_evidence == pytest.approx(np.log(total), abs=1e-7)
    assert factorised_posterior(line).mean < posterior(line).mean - 0.5


def test_the_weight_is_the_marginal_of_a_direct_double_integral() -> None:
    line, exact = line_of(5), posterior(line_of(5))

    def height(weight: float, precision: float) -> float:
        return float(np.exp(log_joint(line, np.log(precision), precision, weight)))

    total, first, second = (
        integrate.dblquad(lambda w, g, k=k: w**k * height(w, g), 1e-6, 40, -3, 3, epsabs=1e-11)[0]
        for k in range(3)
    )
    assert exact.log_evidence == pytest.approx(np.log(total), abs=1e-5)
    assert exact.weight_mean == pytest.approx(first / total, abs=1e-5)
    assert exact.weight_std**2 == pytest.approx(second / total - (first / total) ** 2, abs=1e-5)


def test_a_posterior_density_integrates_to_one_and_is_smooth() -> None:
    exact = posterior(line_of())
    points = np.linspace(-1, 3, 4001)
    density = np.exp(exact.log_density_of_log(points))
    assert np.trapezoid(density, points) == pytest.approx(1, abs=1e-5)
    assert np.abs(np.diff(density, 2)).max() < 1e-4  # a chord of the grid would leave corners
    assert exact.log_density_of_log(np.array([-60.0, 60.0])).tolist() == [-np.inf, -np.inf]


BELIEFS = (PRIOR, Belief(12.0, 3.0, 0.7, 0.01), Belief(3.0, 1.5, -1.0, 2.0))


@pytest.mark.parametrize("belief", BELIEFS)
def test_bound_plus_divergence_is_the_log_evidence(belief: Belief) -> None:
    line = line_of()
    exact = posterior(line)
    total = evidence_lower_bound(line, belief) + divergence(line, exact, belief)
    assert total == pytest.approx(exact.log_evidence, abs=1e-8)


@pytest.mark.parametrize("shared", [0.0, 0.03, -0.05])
def test_bound_plus_divergence_is_the_log_evidence_of_log_normals(shared: float) -> None:
    line = line_of()
    q = LogNormal(np.array([1.2, 0.6]), np.array([[0.2, shared], [shared, 0.04]]))
    exact = posterior(line)
    total = log_normal_bound(line, q) + log_normal_divergence(line, exact, q)
    assert total == pytest.approx(exact.log_evidence, abs=1e-8)
    assert log_normal_divergence(line, exact, q) > 0


def test_the_bound_is_the_mean_over_samples() -> None:
    line, belief = line_of(), Belief(12.0, 3.0, 0.7, 0.01)
    random = np.random.default_rng(0)
    precision = random.gamma(belief.shape, 1 / belief.rate, 200_000)
    weight = random.normal(belief.loc, belief.weight_std, 200_000)
    log_q = stats.gamma(belief.shape, scale=1 / belief.rate).logpdf(precision)
    log_q += stats.norm(belief.loc, belief.weight_std).logpdf(weight)
    gains = log_joint(line, np.log(precision), precision, weight) - log_q
    error = gains.std() / np.sqrt(len(gains))
    assert evidence_lower_bound(line, belief) == pytest.approx(gains.mean(), abs=5 * error)


def test_natural_parameters_go_there_and_back_and_normalise() -> None:
    belief = Belief(3.0, 2.0, -0.4, 0.3)
    again = Belief.of_natural(belief.natural())
    assert list(vars(again).values()) == pytest.approx(list(vars(belief).values()))

    def height(weight: float, precision: float) -> float:
        statistics = np.array([np.log(precision), -precision, -(weight**2) / 2, weight])
        return float(np.exp(belief.natural() @ statistics))

    total = integrate.dblquad(height, 1e-9, 30, -5, 5)[0]
    assert belief.log_normaliser() == pytest.approx(np.log(total), abs=1e-6)


def test_moments_of_a_log_normal_are_those_of_scipy() -> None:
    q = LogNormal(np.array([1.2, 0.6]), np.array([[0.2, 0.05], [0.05, 0.04]]))
    theirs = stats.lognorm(np.sqrt(0.2), scale=np.exp(1.2))
    assert (q.mean, q.std) == pytest.approx((theirs.mean(), theirs.std()))
    assert (q.weight_mean, q.weight_std) == pytest.approx((0.6, 0.2))
