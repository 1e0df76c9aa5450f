"""The factory's maximum, information and EM, each compared with an independent computation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import poisson

from bnnbench.suites.inference_toys.em_factory import (
    Factory,
    closed_form,
    convergence_rate,
    em_step,
    log_likelihood,
    maximise_numerically,
    missing_information_fraction,
    run_em,
    simulate,
)


def experiment_data() -> Factory:
    """Return the data of the experiment."""
    return simulate(10, 2.0, 5.0, 2.0, 3)


def random_start(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.array([random.uniform(0.1, 9), *random.uniform(1, 40, 10)])


def test_the_likelihood_uses_only_observed_counts() -> None:
    factory, theta = experiment_data(), random_start(1)
    observed = poisson.logpmf(factory.impure, theta[1:])[1:].sum()
    observed += poisson.logpmf(factory.faulty, theta[0] * theta[1:])[:-1].sum()
    assert log_likelihood(factory, theta) == pytest.approx(observed)
    hidden = replace(factory, impure=factory.impure + np.eye(10, dtype=int)[0])
    assert log_likelihood(hidden, theta) == log_likelihood(factory, theta)


def test_the_corrected_closed_form_is_the_maximum() -> None:
    factory = experiment_data()
    best = closed_form(factory)
    maximum = log_likelihood(factory, best)
    optimum = maximise_numerically(factory, random_start(0))
    np.testing.assert_allclose(optimum, best, rtol=1e-4)
    assert log_likelihood(factory, closed_form(factory, printed=True)) < maximum
    for move in 0.01 * np.eye(11):
        for factor in (1 - move, 1 + move):
            assert log_likelihood(factory, best * factor) < maximum


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0.05, 20), st.integers(3, 12))
def test_the_likelihood_never_decreases(seed: int, beta: float, products: int) -> None:
    """From random starts on random factories with an interior maximum."""
    factory = simulate(products, 1.0, 5.0, 3.0, seed)
    if not factory.has_interior_maximum:
        return
    rates = np.random.default_rng(seed).uniform(0.1, 50, products)
    iterates = run_em(factory, np.array([beta, *rates]), 30, 1e-12)
    values = np.array([log_likelihood(factory, theta) for theta in iterates])
    assert (np.diff(values) >= -1e-10 * np.abs(values[:-1])).all()


def test_a_step_replaces_missing_counts_by_their_means() -> None:
    """(2.57)-(2.60) computed by hand for three products."""
    factory = Factory(np.array([99, 4, 6]), np.array([8, 2, 99]))
    beta = (0.5 * 4 + 8 + 2) / (10 + 4 + 6)
    rates = np.array([10 + 8, 4 + 2, 6 + 0.5 * 4]) / (1 + beta)
    new = em_step(factory, np.array([0.5, 10.0, 3.0, 4.0]))
    np.testing.assert_allclose(new, [beta, *rates])


def test_the_convergence_rate_is_the_fraction_of_missing_information() -> None:
    """The fraction is the largest eigenvalue of the derivative of an EM step."""
    factory = experiment_data()
    best = closed_form(factory)
    fraction, h = missing_information_fraction(factory, best), 1e-6
    moves = h * np.eye(11)
    jacobian = [(em_step(factory, best + d) - em_step(factory, best - d)) / (2 * h) for d in moves]
    assert fraction == pytest.approx(np.linalg.eigvals(np.array(jacobian)).real.max(), abs=1e-6)
    errors = np.abs(run_em(factory, random_start(2), 1000, 1e-13) / best - 1).max(1)
    assert convergence_rate(errors) == pytest.approx(fraction, rel=1e-3)


def test_the_convergence_rate_needs_several_iterations() -> None:
    assert np.isnan(convergence_rate(np.array([1.0, 0.5])))
    assert convergence_rate(0.7 ** np.arange(20)) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("impure", "faulty"), [([1, 0, 2], [3, 0, 4]), ([1, 3, 0], [3, 2, 4]), ([1, 3, 2], [0, 2, 4])]
)
def test_zero_counts_have_no_interior_maximum(impure: list[int], faulty: list[int]) -> None:
    assert experiment_data().has_interior_maximum
    assert not Factory(np.array(impure), np.array(faulty)).has_interior_maximum
