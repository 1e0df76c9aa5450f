"""Tests from means and standard deviations agree with tests from the values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import f_oneway, ttest_ind

from bnnbench.suites.lam_density_ratio.comparison.published import Cell, printed_tables
from bnnbench.suites.lam_density_ratio.comparison.statistics import (
    Sample,
    f_test,
    summarise,
    welch,
)


def test_standard_deviations_and_error_of_a_sample() -> None:
    own = summarise([1.0, 2.0, 3.0, 6.0, math.nan])
    assert own == Sample(3.0, math.sqrt(14 / 4), 4)
    assert own.unbiased_std == pytest.approx(np.std([1, 2, 3, 6], ddof=1))
    assert own.stderr == pytest.approx(own.unbiased_std / 2)
    assert math.isnan(summarise([5.0]).stderr) and summarise([]).size == 0


def test_welch_agrees_with_scipy() -> None:
    random = np.random.default_rng(0)
    first, second = random.normal(1, 2, 14), random.normal(0, 0.5, 9)
    found, true = (
        welch(summarise(first), summarise(second)),
        ttest_ind(first, second, equal_var=False),
    )
    assert (found.t, found.p) == pytest.approx((true.statistic, true.pvalue))
    assert found.difference == pytest.approx(first.mean() - second.mean())
    assert math.isnan(welch(summarise([1.0]), summarise(second)).p)


def test_f_test_agrees_with_scipy() -> None:
    random = np.random.default_rng(1)
    groups = [random.normal(k / 3, 1, 8 + k) for k in range(3)]
    assert f_test([summarise(group) for group in groups]) == pytest.approx(tuple(f_oneway(*groups)))


PAIRS = {
    # Numbers of the thesis: table, contrast, first, second, difference, p.
    "prior, ReLU and classifier": (
        "5.1",
        "prior",
        ("kl_posterior_prior", "relu_ratio"),
        ("gan", "class_probability"),
        0.0540,
        3e-8,
    ),
    "joint, ReLU and classifier": (
        "5.1",
        "joint",
        ("kl_posterior_prior", "relu_ratio"),
        ("gan", "class_probability"),
        0.3266,
        4e-4,
    ),
    "prior, T and D": (
        "9.1",
        "prior",
        ("kl_posterior_prior", "log_ratio"),
        ("kl_posterior_prior", "class_probability"),
        0.0069,
        0.063,
    ),
    "joint, T and D": (
        "9.2",
        "joint",
        ("kl_posterior_prior", "log_ratio"),
        ("kl_posterior_prior", "class_probability"),
        0.0347,
        0.007,
    ),
    "joint, GAN, T and D": (
        "9.2",
        "joint",
        ("gan", "log_ratio"),
        ("gan", "class_probability"),
        0.0197,
        0.08,
    ),
    "joint, T and r": (
        "8.2",
        "joint",
        ("kl_posterior_prior", "log_ratio"),
        ("kl_posterior_prior", "ratio"),
        0.0049,
        0.042,
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_thesis_s_own_numbers(name: str) -> None:
    number, contrast, first, second, difference, p = PAIRS[name]
    setting = "undertrained" if number.startswith("9") else "optimal"
    rows = printed_tables()[number]
    found = welch(*(rows[Cell(setting, contrast, *parts)] for parts in (first, second)))
    assert found.difference == pytest.approx(difference, abs=1e-9)
    assert found.p == pytest.approx(p, rel=0.15)


def test_no_pair_of_estimators_differs_when_trained_to_the_optimum() -> None:
    rows = printed_tables()["8.1"]
    for divergence in ("gan", "kl_posterior_prior"):
        own = [sample for cell, sample in rows.items() if cell.divergence == divergence]
        assert all(welch(a, b).p > 0.39 for a in own for b in own if a is not b)
