"""The fitted prior variance maximises the bound."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import run_cavi
from bnnbench.suites.inference_toys.gaussian_mixture.model import SyntheticData
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import (
    elbo_with_fixed_factors,
    fit_prior_variance,
)

POINTS = SyntheticData((-2.0, 2.0), 10, 1).draw()
START = np.array([-3.0, 1.0])


def bound_at(prior_variance: float, loc: np.ndarray) -> float:
    """Return the ELBO of coordinate ascent at one prior variance."""
    return float(run_cavi(POINTS, loc, prior_variance, 1000, 1e-15).elbo[-1])


def test_the_elbo_never_decreases_and_reaches_its_maximum() -> None:
    fit = fit_prior_variance(POINTS, START, 25.0, 100, 1e-14)
    assert fit.converged and fit.largest_decrease < 1e-12
    best, loc = fit.prior_variance[-1], fit.loc[-1]
    assert fit.elbo[0] == pytest.approx(-22.1696, abs=5e-5)
    assert fit.elbo[-1] == pytest.approx(bound_at(best, loc))
    for factor in (0.97, 1.03):
        assert bound_at(best * factor, loc) < fit.elbo[-1]
    assert best == pytest.approx(fit.second_moment[-1] / 2, rel=1e-6)


def test_the_bound_of_an_e_step_touches_the_elbo_and_is_below_it_elsewhere() -> None:
    fit = fit_prior_variance(POINTS, START, 25.0, 100, 1e-14)
    grid = np.geomspace(0.5, 200, 15)
    touching = elbo_with_fixed_factors(
        np.array([25.0]), 25.0, fit.elbo[0], fit.second_moment[0], components=2
    )
    assert touching[0] == fit.elbo[0]
    bound = elbo_with_fixed_factors(grid, 25.0, fit.elbo[0], fit.second_moment[0], components=2)
    best = np.array([bound_at(value, fit.loc[-1]) for value in grid])
    assert (bound <= best + 1e-10).all() and (bound < best - 1e-3).any()


def test_one_e_step_does_not_converge() -> None:
    fit = fit_prior_variance(POINTS, START, 25.0, 1, 1e-14)
    assert not fit.converged and fit.largest_decrease == 0.0 and len(fit.elbo) == 1
