"""The factory's maximum, information and EM, each compared with an independent computation."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from bnnbench.suites.inference_toys.em_factory.algorithm import convergence_rate, em_step, run_em
from bnnbench.suites.inference_toys.em_factory.model import (
    Factory,
    Parameters,
    closed_form,
    log_likelihood,
    maximise_numerically,
    missing_information_fraction,
    simulate,
)


def experiment_data(seed: int = 3) -> Factory:
    """Return the data of the experiment."""
    return simulate(10, 2.0, 5.0, 2.0, seed)


def random_start(factory: Factory, seed: int) -> Parameters:
    random = np.random.default_rng(seed)
    return Parameters(float(random.uniform(0.1, 9)), random.uniform(1, 40, len(factory.impure)))


def test_known_estimates() -> None:
    factory = experiment_data()
    assert closed_form(factory, "corrected").beta == pytest.approx(1.768116, abs=1e-6)
    assert closed_form(factory, "printed").beta == pytest.approx(1.793103, abs=1e-6)
    end = run_em(factory, random_start(factory, 0), 1000, 1e-13).iterates[-1]
    assert end.beta == pytest.approx(1.768116, abs=1e-6)
    assert end.rates[0] == pytest.approx(factory.faulty[0] / end.beta)
    assert end.rates[-1] == pytest.approx(factory.impure[-1])
    middle = (factory.impure + factory.faulty)[1:-1] / (1 + end.beta)
    np.testing.assert_allclose(end.rates[1:-1], middle)


def test_the_likelihood_uses_only_observed_counts() -> None:
    factory = experiment_data()
    parameters = random_start(factory, 1)
    observed = poisson.logpmf(factory.impure, parameters.rates)[1:].sum()
    observed += poisson.logpmf(factory.faulty, parameters.beta * parameters.rates)[:-1].sum()
    assert log_likelihood(factory, parameters) == pytest.approx(observed)
    hidden = replace(factory, impure=factory.impure + np.eye(10, dtype=int)[0])
    assert log_likelihood(hidden, parameters) == log_likelihood(factory, parameters)


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_the_corrected_closed_form_is_the_maximum(seed: int) -> None:
    factory = experiment_data(seed)
    best = closed_form(factory, "corrected")
    maximum = log_likelihood(factory, best)
    optimum = maximise_numerically(factory, random_start(factory, seed))
    np.testing.assert_allclose(optimum.vector, best.vector, rtol=1e-4)
    assert log_likelihood(factory, closed_form(factory, "printed")) < maximum
    for index in range(11):
        for factor in (0.99, 1.01):
            vector = best.vector * np.where(np.arange(11) == index, factor, 1.0)
            assert log_likelihood(factory, Parameters(vector[0], vector[1:])) < maximum


@given(st.integers(0, 10**6), st.floats(0.05, 20), st.integers(3, 12))
def test_the_likelihood_never_decreases(seed: int, beta: float, products: int) -> None:
    """From random starts on random factories with an interior maximum."""
    factory = simulate(products, 1.0, 5.0, 3.0, seed)
    if not factory.has_interior_maximum:
        return
    rates = np.random.default_rng(seed).uniform(0.1, 50, products)
    trajectory = run_em(factory, Parameters(beta, rates), 30, 1e-12)
    for before, after in pairwise(trajectory.log_likelihoods):
        assert after >= before - 1e-10 * abs(before)


def test_a_step_replaces_missing_counts_by_their_means() -> None:
    """(2.57)-(2.60) computed by hand for three products."""
    factory = Factory(np.array([99, 4, 6]), np.array([8, 2, 99]))
    new = em_step(factory, Parameters(0.5, np.array([10.0, 3.0, 4.0])))
    beta = (0.5 * 4 + 8 + 2) / (10 + 4 + 6)
    assert new.beta == pytest.approx(beta)
    expected = np.array([10 + 8, 4 + 2, 6 + 0.5 * 4]) / (1 + beta)
    np.testing.assert_allclose(new.rates, expected)


def test_the_convergence_rate_is_the_fraction_of_missing_information() -> None:
    """The fraction is the largest eigenvalue of the derivative of an EM step."""
    factory = experiment_data()
    best = closed_form(factory, "corrected")
    fraction, v, h = missing_information_fraction(factory, best), best.vector, 1e-6
    columns = []
    for e in np.eye(11) * h:
        up, down = (Parameters((v + d)[0], (v + d)[1:]) for d in (e, -e))
        columns.append((em_step(factory, up).vector - em_step(factory, down).vector) / (2 * h))
    assert fraction == pytest.approx(np.linalg.eigvals(np.array(columns)).real.max(), abs=1e-6)
    errors = run_em(factory, random_start(factory, 2), 1000, 1e-13).errors(best)
    assert convergence_rate(errors) == pytest.approx(fraction, rel=1e-3)


def test_the_convergence_rate_needs_several_iterations() -> None:
    assert np.isnan(convergence_rate(np.array([1.0, 0.5])))
    assert convergence_rate(0.7 ** np.arange(20)) == pytest.approx(0.7)
    assert convergence_rate(0.5 ** np.arange(60)) == pytest.approx(0.5)


def test_zero_counts_have_no_interior_maximum() -> None:
    assert experiment_data().has_interior_maximum
    assert not Factory(np.array([1, 0, 2]), np.array([3, 0, 4])).has_interior_maximum
    assert not Factory(np.array([1, 3, 0]), np.array([3, 2, 4])).has_interior_maximum
    assert not Factory(np.array([1, 3, 2]), np.array([0, 2, 4])).has_interior_maximum
