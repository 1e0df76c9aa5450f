"""The exact Gaussian process, compared with networks sampled from their prior and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.suites.gold_standard.one_dimensional import covariance, exact_posterior


def test_covariance_is_that_of_networks_sampled_from_the_prior() -> None:
    """One layer of three units with biases, prior precision 2."""
    rng, x, width, count = np.random.default_rng(0), np.array([[-1.0], [0.3], [2.0]]), 3, 200_000
    scale = 2**-0.5
    hidden = scale * rng.normal(size=(count, 2, width))
    units = np.maximum(np.einsum("mi,siw->smw", np.column_stack([x, np.ones(3)]), hidden), 0)
    out = scale * rng.normal(size=(count, width + 1))
    outputs = np.einsum("smw,sw->sm", units, out[:, :width]) + out[:, width:]
    drawn = outputs.T @ outputs / count
    error = np.sqrt(((outputs[:, :, None] * outputs[:, None] - drawn) ** 2).mean(0) / count)
    assert (np.abs(drawn - covariance(x, x, width, 2.0)) < 4 * error).all()


def test_posterior_of_one_observation_in_closed_form() -> None:
    x, y, at = np.array([[0.5]]), np.array([2.0]), np.array([[0.5], [-1.0]])
    prior, cross = covariance(at, at, 50, 4.0), covariance(at, x, 50, 4.0)[:, 0]
    mean, deviation = exact_posterior(x, y, at, 50, 4.0, 10.0)
    total = covariance(x, x, 50, 4.0)[0, 0] + 0.1
    assert mean == pytest.approx(cross * 2.0 / total)
    assert deviation**2 == pytest.approx(np.diag(prior) - cross**2 / total)
