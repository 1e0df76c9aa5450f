"""The fitted prior variance, against the bound that it should maximise."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import ascend
from bnnbench.suites.inference_toys.gaussian_mixture.model import MadeData
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import (
    bound_of_prior_variance,
    fit_prior_variance,
)

POINTS = MadeData((-2.0, 2.0), 10, 1).draw()
START = np.array([-3.0, 1.0])


def bound_at(prior_variance: float, loc: np.ndarray) -> float:
    """The ELBO of coordinate ascent at one prior variance."""
    return float(ascend(POINTS, loc, prior_variance, 1000, 1e-15).elbo[-1])


def test_it_ends_at_the_top_of_the_bound_and_never_falls() -> None:
    fit = fit_prior_variance(POINTS, START, 25.0, 100, 1e-14)
    assert fit.converged and fit.largest_fall < 1e-12
    best, loc = fit.prior_variance[-1], fit.loc[-1]
    assert fit.elbo[0] == pytest.approx(-22.1696, abs=5e-5)
    assert fit.elbo[-1] == pytest.approx(bound_at(best, loc))
    for factor in (0.97, 1.03):
        assert bound_at(best * factor, loc) < fit.elbo[-1]
    assert best == pytest.approx(fit.square[-1] / 2, rel=1e-6)


def test_the_bound_of_an_e_step_touches_there_and_lies_below_elsewhere() -> None:
    fit = fit_prior_variance(POINTS, START, 25.0, 100, 1e-14)
    grid = np.geomspace(0.5, 200, 15)
    touching = bound_of_prior_variance(
        np.array([25.0]), 25.0, fit.elbo[0], fit.square[0], components=2
    )
    assert touching[0] == fit.elbo[0]
    bound = bound_of_prior_variance(grid, 25.0, fit.elbo[0], fit.square[0], components=2)
    best = np.array([bound_at(value, fit.loc[-1]) for value in grid])
    assert (bound <= best + 1e-10).all() and (bound < best - 1e-3).any()


def test_one_e_step_is_no_end() -> None:
    fit = fit_prior_variance(POINTS, START, 25.0, 1, 1e-14)
    assert not fit.converged and fit.largest_fall == 0.0 and len(fit.elbo) == 1
