"""The factory: its maximum, its information and EM, each by another way."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from bnnbench.suites.inference_toys.em_factory.algorithm import climb, measured_rate, step
from bnnbench.suites.inference_toys.em_factory.model import (
    Factory,
    Parameters,
    closed_form,
    log_likelihood,
    missing_information,
    search,
    simulate,
)


def book(seed: int = 3) -> Factory:
    """The data of the experiment."""
    return simulate(10, 2.0, 5.0, 2.0, seed)


def guess(factory: Factory, seed: int) -> Parameters:
    random = np.random.default_rng(seed)
    return Parameters(float(random.uniform(0.1, 9)), random.uniform(1, 40, len(factory.impure)))


def test_the_known_answer_and_that_of_the_print() -> None:
    factory = book()
    assert closed_form(factory, "corrected").beta == pytest.approx(1.768116, abs=1e-6)
    assert closed_form(factory, "printed").beta == pytest.approx(1.793103, abs=1e-6)
    end = climb(factory, guess(factory, 0), 1000, 1e-13).steps[-1]
    assert end.beta == pytest.approx(1.768116, abs=1e-6)
    assert end.rates[0] == pytest.approx(factory.faulty[0] / end.beta)
    assert end.rates[-1] == pytest.approx(factory.impure[-1])
    middle = (factory.impure + factory.faulty)[1:-1] / (1 + end.beta)
    np.testing.assert_allclose(end.rates[1:-1], middle)


def test_the_likelihood_is_that_of_what_was_counted() -> None:
    factory = book()
    at = guess(factory, 1)
    seen = poisson.logpmf(factory.impure, at.rates)[1:].sum()
    seen += poisson.logpmf(factory.faulty, at.beta * at.rates)[:-1].sum()
    assert log_likelihood(factory, at) == pytest.approx(seen)
    hidden = replace(factory, impure=factory.impure + np.eye(10, dtype=int)[0])
    assert log_likelihood(hidden, at) == log_likelihood(factory, at)


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_nothing_is_likelier_than_the_corrected_form(seed: int) -> None:
    factory = book(seed)
    best = closed_form(factory, "corrected")
    top = log_likelihood(factory, best)
    found = search(factory, guess(factory, seed))
    np.testing.assert_allclose(found.vector, best.vector, rtol=1e-4)
    assert log_likelihood(factory, closed_form(factory, "printed")) < top
    for place in range(11):
        for factor in (0.99, 1.01):
            vector = best.vector * np.where(np.arange(11) == place, factor, 1.0)
            assert log_likelihood(factory, Parameters(vector[0], vector[1:])) < top


@given(st.integers(0, 10**6), st.floats(0.05, 20), st.integers(3, 12))
def test_the_likelihood_never_falls(seed: int, beta: float, products: int) -> None:
    """From random starts, on random factories whose maximum is inside."""
    factory = simulate(products, 1.0, 5.0, 3.0, seed)
    if not factory.regular:
        return
    rates = np.random.default_rng(seed).uniform(0.1, 50, products)
    path = climb(factory, Parameters(beta, rates), 30, 1e-12)
    for before, after in pairwise(path.log_likelihoods):
        assert after >= before - 1e-10 * abs(before)


def test_a_step_puts_means_in_the_place_of_missing_counts() -> None:
    """(2.57)-(2.60) on three products, by hand."""
    factory = Factory(np.array([99, 4, 6]), np.array([8, 2, 99]))
    found = step(factory, Parameters(0.5, np.array([10.0, 3.0, 4.0])))
    beta = (0.5 * 4 + 8 + 2) / (10 + 4 + 6)
    assert found.beta == pytest.approx(beta)
    expected = np.array([10 + 8, 4 + 2, 6 + 0.5 * 4]) / (1 + beta)
    np.testing.assert_allclose(found.rates, expected)


def test_the_error_falls_by_the_missing_information() -> None:
    """The share of information is the greatest eigenvalue of the step's derivative."""
    factory = book()
    best = closed_form(factory, "corrected")
    share, v, h = missing_information(factory, best), best.vector, 1e-6
    columns = []
    for e in np.eye(11) * h:
        up, down = (Parameters((v + d)[0], (v + d)[1:]) for d in (e, -e))
        columns.append((step(factory, up).vector - step(factory, down).vector) / (2 * h))
    assert share == pytest.approx(np.linalg.eigvals(np.array(columns)).real.max(), abs=1e-6)
    errors = climb(factory, guess(factory, 2), 1000, 1e-13).errors(best)
    assert measured_rate(errors) == pytest.approx(share, rel=1e-3)


def test_a_rate_needs_iterations() -> None:
    assert np.isnan(measured_rate(np.array([1.0, 0.5])))
    assert measured_rate(0.7 ** np.arange(20)) == pytest.approx(0.7)
    assert measured_rate(0.5 ** np.arange(60)) == pytest.approx(0.5)


def test_a_product_without_counts_has_no_maximum_inside() -> None:
    assert book().regular
    assert not Factory(np.array([1, 0, 2]), np.array([3, 0, 4])).regular
    assert not Factory(np.array([1, 3, 0]), np.array([3, 2, 4])).regular
    assert not Factory(np.array([1, 3, 2]), np.array([0, 2, 4])).regular
