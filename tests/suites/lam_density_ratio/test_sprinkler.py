"""The model: its evidence, its posterior and exact draws."""

from __future__ import annotations

import numpy as np
import pytest
from support.exact_draws import max_log_likelihood, posterior_samples

from bnnbench.suites.lam_density_ratio import sprinkler

EVIDENCE = {0: -1.44244, 5: -2.78355, 8: -3.48258, 12: -4.26145, 50: -7.28387}
"""Log p(x) from an independent quadrature with 3001 points per side."""


def test_evidence() -> None:
    assert {x: sprinkler.log_evidence(x) for x in EVIDENCE} == pytest.approx(EVIDENCE, abs=1e-5)


def test_the_mean_evidence_shows_which_observations_the_tables_use() -> None:
    """The floor of the thesis's tables, 1.32, is that of 50 and not of the 20 that it prints."""

    def floor(observations: tuple[float, ...]) -> float:
        logs = [sprinkler.log_evidence(x) - sprinkler.LOG_PRIOR_CONSTANT for x in observations]
        return -float(np.mean(logs))

    assert floor(sprinkler.OBSERVATIONS) == pytest.approx(1.31975, abs=1e-4)
    assert floor((0.0, 5.0, 8.0, 12.0, 20.0)) == pytest.approx(0.9309, abs=1e-3)


@pytest.mark.parametrize("x", [0.0, 50.0])
def test_max_log_likelihood_is_an_attained_bound(x: float) -> None:
    bound = max_log_likelihood(x)
    values = sprinkler.log_likelihood(x, sprinkler.grid(8, 800)[0])
    assert values.max() <= bound + 1e-12
    assert values.max() == pytest.approx(bound, abs=1e-3)


@pytest.mark.parametrize("x", [0.0, 50.0])
def test_moments_of_exact_draws_agree_with_quadrature(x: float) -> None:
    points, area = sprinkler.grid()
    weight = np.exp(sprinkler.log_posterior(x, points)) * area
    assert weight.sum() == pytest.approx(1, abs=1e-9)
    draws = posterior_samples(x, 40_000, np.random.default_rng(0))
    assert draws.shape == (40_000, 2)
    for statistic in (lambda z: z[..., 0], lambda z: z[..., 1], lambda z: z[..., 0] ** 2,
                      lambda z: z[..., 0] * z[..., 1], lambda z: z.max(-1)):  # fmt: skip
        values = statistic(points)
        exact = (weight * values).sum()
        error = np.sqrt((weight * (values - exact) ** 2).sum() / len(draws))
        assert abs(statistic(draws).mean() - exact) < 4 * error
