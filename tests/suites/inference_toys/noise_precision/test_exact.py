"""Exact posteriors and the KL to them, compared with other numerical integrals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from bnnbench.suites.inference_toys.maths import simulate_line
from bnnbench.suites.inference_toys.noise_precision.model import (
    Belief,
    LinearModel,
    LogNormal,
    evidence_lower_bound,
    exact_posterior,
    factorised_posterior,
    kl_to_posterior,
)

MakeModel = Callable[..., LinearModel]


def marginal(model: LinearModel, precision: float) -> float:
    """Return `p(y | gamma)` from the joint Gaussian of all targets."""
    x = model.inputs
    covariance = np.eye(len(x)) / precision + np.outer(x, x) * model.prior.variance
    return float(
        stats.multivariate_normal(x * model.prior.weight_mean, covariance).pdf(model.targets)
    )


def test_the_evidence_matches_the_joint_gaussian_of_the_targets() -> None:
    model = LinearModel(*simulate_line(5, 0.8, 4.0, 0), Belief(2.5, 0.7, -0.3, 0.6))
    prior = stats.gamma(model.prior.shape, scale=1 / model.prior.rate)
    moments = [
        integrate.quad(
            lambda g, k=k: g**k * prior.pdf(g) * marginal(model, g), 1e-6, 80, points=[1, 4, 10]
        )[0]
        for k in range(3)
    ]
    exact = exact_posterior(model)
    assert exact.log_evidence == pytest.approx(np.log(moments[0]), abs=1e-7)
    assert exact.mean == pytest.approx(moments[1] / moments[0], rel=1e-6)
    assert exact.std**2 + exact.mean**2 == pytest.approx(moments[2] / moments[0], rel=1e-6)


def test_the_printed_target_has_one_weight_per_observation(make_model: MakeModel) -> None:
    model = make_model(5)
    prior = stats.gamma(model.prior.shape, scale=1 / model.prior.rate)

    def heights(precision: float) -> float:
        scale = np.sqrt(model.inputs**2 + 1 / precision)
        return float(prior.pdf(precision) * stats.norm(0, scale).pdf(model.targets).prod())

    total = integrate.quad(heights, 1e-6, 80, points=[1, 4, 10])[0]
    assert factorised_posterior(model).log_evidence == pytest.approx(np.log(total), abs=1e-7)
    assert factorised_posterior(model).mean < exact_posterior(model).mean - 0.5


@pytest.mark.parametrize(
    "q",
    [
        Belief(12.0, 3.0, 0.7, 0.01),
        LogNormal(np.array([1.2, 0.6]), np.array([[0.2, -0.05], [-0.05, 0.04]])),
    ],
)
def test_bound_plus_divergence_is_the_log_evidence(
    model: LinearModel, q: Belief | LogNormal
) -> None:
    exact = exact_posterior(model)
    divergence = kl_to_posterior(model, exact, q)
    total = evidence_lower_bound(model, q) + divergence
    assert total == pytest.approx(exact.log_evidence, abs=1e-8) and divergence > 0
