"""The Bayesian signed-rank test, compared with baycomp."""

from __future__ import annotations

import numpy as np
import pytest
from baycomp import SignedRankTest
from support.quick import slow_except

from bnnbench.results.compare.ranking import ERROR_RATES, MIN_SIGNED_RANK_DATASETS, signed_rank_test

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("n_datasets", "shift"), [(2, 0.05), (5, 0.02), (9, -0.01), (9, 0.0)])
def test_probabilities_equal_those_of_baycomp(n_datasets: int, shift: float) -> None:
    differences = shift + 0.03 * RNG.standard_normal(n_datasets)
    worse, equal, better = SignedRankTest.probs(
        np.zeros(n_datasets), differences, 0.01, nsamples=10_000, random_state=1
    )
    found = signed_rank_test(differences, 0.01)
    np.testing.assert_allclose(found, (better, equal, worse), atol=0.02)  # both are samples


def test_probabilities_without_a_region_of_equivalence_equal_those_of_baycomp() -> None:
    differences = np.array([0.3, 0.2, -0.1, 0.05])
    worse, better = SignedRankTest.probs(np.zeros(4), differences, nsamples=10_000, random_state=1)
    found = signed_rank_test(differences, 0.0)
    np.testing.assert_allclose(found, (better, 0, worse), atol=0.02)


def test_the_sign_and_the_region_decide() -> None:
    better = signed_rank_test(np.full(9, 0.5), 0.01)
    assert better[0] > 0.95 and signed_rank_test(np.full(9, -0.5), 0.01) == better[::-1]
    assert signed_rank_test(np.full(9, 0.5), 1.0)[1] == 1


def test_two_data_sets_that_agree_are_enough_for_a_high_probability() -> None:
    assert 0.95 < signed_rank_test(np.ones(2), 0.01)[0] < signed_rank_test(np.ones(5), 0.01)[0]


@pytest.mark.parametrize(
    "n_datasets",
    slow_except([MIN_SIGNED_RANK_DATASETS, max(ERROR_RATES)], MIN_SIGNED_RANK_DATASETS),
)
def test_error_rates_are_those_of_a_simulation(n_datasets: int) -> None:
    differences = np.random.default_rng(1).standard_normal((400, n_datasets))
    chances = np.array([signed_rank_test(row, 0.0) for row in differences])
    rate = (chances[:, [0, 2]].max(1) > 0.95).mean()
    assert rate == pytest.approx(ERROR_RATES[n_datasets], abs=0.045)
