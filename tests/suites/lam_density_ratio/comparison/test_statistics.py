"""Tests from means and standard deviations agree with those from the numbers themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import f_oneway, ttest_ind

from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed
from bnnbench.suites.lam_density_ratio.comparison.statistics import (
    Sample,
    f_test,
    sample_of,
    welch,
)


def test_a_sample_knows_both_deviations_and_its_error() -> None:
    own = sample_of([1.0, 2.0, 3.0, 6.0, math.nan])
    assert own == Sample(3.0, math.sqrt(14 / 4), 4)
    assert own.unbiased == pytest.approx(np.std([1, 2, 3, 6], ddof=1))
    assert own.stderr == pytest.approx(own.unbiased / 2)
    assert math.isnan(sample_of([5.0]).stderr) and sample_of([]).size == 0


def test_welch_is_that_of_the_numbers() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(1, 2, 14), random.normal(0, 0.5, 9)
    found, true = (
        welch(sample_of(first), sample_of(second)),
        ttest_ind(first, second, equal_var=False),
    )
    assert (found.t, found.p) == pytest.approx((true.statistic, true.pvalue))
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert math.isnan(welch(sample_of([1.0]), sample_of(second)).p)


def test_the_analysis_of_variance_is_that_of_the_numbers() -> None:
    random = np.random.default_rng(1)
    groups = [random.normal(k / 3, 1, 8 + k) for k in range(3)]
    assert f_test([sample_of(group) for group in groups]) == pytest.approx(tuple(f_oneway(*groups)))


PAIRS = {
    # The thesis's own numbers: table, first, second, difference, p.
    "prior, ReLU and classifier": (
        "5.1",
        "prior",
        ("reverse_kl", "relu"),
        ("gan", "D"),
        0.0540,
        3e-8,
    ),
    "joint, ReLU and classifier": (
        "5.1",
        "joint",
        ("reverse_kl", "relu"),
        ("gan", "D"),
        0.3266,
        4e-4,
    ),
    "prior, T and D": ("9.1", "prior", ("reverse_kl", "T"), ("reverse_kl", "D"), 0.0069, 0.063),
    "joint, T and D": ("9.2", "joint", ("reverse_kl", "T"), ("reverse_kl", "D"), 0.0347, 0.007),
    "joint, GAN, T and D": ("9.2", "joint", ("gan", "T"), ("gan", "D"), 0.0197, 0.08),
    "joint, T and r": ("8.2", "joint", ("reverse_kl", "T"), ("reverse_kl", "r"), 0.0049, 0.042),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_thesis_s_own_numbers(name: str) -> None:
    number, contrast, first, second, difference, p = PAIRS[name]
    setting = "undertrained" if number.startswith("9") else "optimal"
    rows = printed()[number]
    found = welch(*(rows[Cell(setting, contrast, *parts)] for parts in (first, second)))
    assert found.value == pytest.approx(difference, abs=1e-9)
    assert found.p == pytest.approx(p, rel=0.15)


def test_no_pair_of_estimators_differs_when_trained_to_the_optimum() -> None:
    rows = printed()["8.1"]
    for divergence in ("gan", "reverse_kl"):
        own = [sample for cell, sample in rows.items() if cell.divergence == divergence]
        assert all(welch(a, b).p > 0.39 for a in own for b in own if a is not b)
