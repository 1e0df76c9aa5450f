"""Checks of the reference chains and comparisons of rankings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.saved_mixtures import JITTER, make_approximation, make_chains

from bnnbench.results.read.run_tables import read_runs
from bnnbench.suites.gold_standard.comparison import (
    Comparison,
    build_comparisons,
    check_agreement,
    check_chain_length,
    check_convergence,
    describe_nearest,
)

LIKELY = np.array([-2.0, -2.1, -1.9, -2.0])


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    make_chains(tmp_path)
    make_approximation(tmp_path, "near", 0.1, log_likelihood=LIKELY - 0.5)
    return tmp_path


def numbers(text: str) -> list[float]:
    """The numbers in a string, without the names W1 and W2."""
    return [float(number) for number in re.findall(r"(?<![\w.-])-?\d+(?:\.\d+)?", text)]


def compared(outputs: Path) -> Comparison:
    (found,) = build_comparisons(read_runs(outputs))
    return found


def test_rankings_that_disagree(outputs: Path) -> None:
    make_approximation(outputs, "far", 0.3, log_likelihood=LIKELY)
    found = compared(outputs)
    agree, text = check_agreement(found)
    assert not agree
    # Ranks of either by the other criterion, Spearman's correlation, decided and opposite pairs.
    assert numbers(text) == [2, 2, 2, 2, -1, 1, 1, 1]
    assert describe_nearest(found).startswith("Closest by W1: near, significantly closer than all")


def test_rankings_that_agree(outputs: Path) -> None:
    make_approximation(outputs, "far", 0.3, log_likelihood=LIKELY - 1)
    agree, text = check_agreement(compared(outputs))
    assert agree and numbers(text) == [1, 1, 1, 0]


def test_undecided_tests_are_not_a_disagreement(outputs: Path) -> None:
    """The approximations differ by less than the noise of the splits."""
    noisy = LIKELY - 0.5 + np.array([0.3, -0.2, 0.2, -0.2])
    make_approximation(outputs, "far", 0.1005, jitter=-JITTER, log_likelihood=noisy)
    found = compared(outputs)
    agree, text = check_agreement(found)
    assert agree and numbers(text)[-3:] == [0, 1, 0]
    assert describe_nearest(found).startswith(
        "Closest by W1: near, not significantly closer than far"
    )


def test_on_one_split_only_the_best_are_compared(tmp_path: Path) -> None:
    found = compared_on_one_split(tmp_path)
    agree, text = check_agreement(found)
    assert not agree and numbers(text)[-2:] == [-1, 3]
    assert numbers(describe_nearest(found)) == [3]


def compared_on_one_split(outputs: Path) -> Comparison:
    """A comparison in which three of four splits diverged."""
    lost = {"diverged": [0, 1, 1, 1]}
    make_chains(outputs, **lost)
    make_approximation(outputs, "near", 0.1, log_likelihood=LIKELY - 1, **lost)
    make_approximation(outputs, "far", 0.3, log_likelihood=LIKELY, **lost)
    return compared(outputs)


def test_chains_long_enough_and_too_short(tmp_path: Path) -> None:
    """The required ratio is five."""
    make_chains(tmp_path)
    make_approximation(tmp_path, "near", 0.1)
    enough, text = check_chain_length(compared(tmp_path))
    assert enough and numbers(text) == [0.01, 0.1, 10]
    make_approximation(tmp_path, "nearer", 0.03)
    enough, text = check_chain_length(compared(tmp_path))
    assert not enough and numbers(text) == [0.01, 0.03, 3, 5]


@pytest.mark.parametrize(
    ("r_hat", "bulk_ess", "failed"), [(1.005, 500, 0), (1.02, 500, 1), (1.005, 399, 1)]
)
def test_chains_need_a_low_r_hat_and_enough_effective_draws(
    r_hat: float, bulk_ess: float, failed: int
) -> None:
    worst = {"split": 1, "diag.r_hat": r_hat, "diag.bulk_ess": bulk_ess, "diag.tail_ess": 600}
    good = {"split": 0, "diag.r_hat": 1.0, "diag.bulk_ess": 900, "diag.tail_ess": 900}
    converged, text = check_convergence(pd.DataFrame([good, worst]))
    assert converged == (not failed)
    assert numbers(text)[-2:] == [r_hat, bulk_ess] and str(failed or 2) in text
    for unknown in (pd.DataFrame({"split": [0]}), pd.DataFrame({"diag.r_hat": [1.0, np.nan]})):
        converged, text = check_convergence(unknown)
        assert not converged and not numbers(text)
