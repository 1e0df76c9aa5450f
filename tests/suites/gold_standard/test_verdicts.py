"""What is said of the chains, and of rankings: judged from the numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.kept_mixtures import make_approximation, make_chains

from bnnbench.results.reader import read_runs
from bnnbench.suites.gold_standard.comparison import DISTANCES, Comparison, comparisons
from bnnbench.suites.gold_standard.verdicts import (
    agreement,
    convergence,
    length,
    nearest,
    order,
    ranks,
)

LIKELY = np.array([-2.0, -2.1, -1.9, -2.0])


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    make_chains(tmp_path)
    make_approximation(tmp_path, "near", 0.1, log_likelihood=LIKELY - 0.5)
    return tmp_path


def compared(outputs: Path) -> Comparison:
    (found,) = comparisons(read_runs(outputs))
    return found


def test_rankings_that_disagree(outputs: Path) -> None:
    make_approximation(outputs, "far", 0.3, log_likelihood=LIKELY)
    found = compared(outputs)
    same, said = agreement(found)
    assert not same
    assert said == (
        "near is nearest by W1 and number 2 of 2 by log-likelihood; far has the best "
        "log-likelihood and is number 2 by W1. The rankings correlate by -1.00 (Spearman). Of 1 "
        "pairs of methods both tests decide 1, and 1 of these the other way round: the rankings "
        "disagree."
    )
    assert nearest(found) == (
        "Nearest by W1 is near; all others are credibly farther (correlated t-test)."
    )


def test_rankings_that_agree(outputs: Path) -> None:
    make_approximation(outputs, "far", 0.3, log_likelihood=LIKELY - 1)
    same, said = agreement(compared(outputs))
    assert same and said.endswith("0 of these the other way round: where both decide, the rankings "
                                  "agree.")  # fmt: skip


def test_what_a_test_does_not_decide_is_no_disagreement(outputs: Path) -> None:
    """Almost as near, and as likely within the noise of splits."""
    noisy = LIKELY - 0.5 + np.array([0.3, -0.2, 0.2, -0.2])
    make_approximation(outputs, "far", 0.1005, log_likelihood=noisy)
    found = compared(outputs)
    assert agreement(found)[0] and "decide 0" in agreement(found)[1]
    assert (
        nearest(found)
        == "Nearest by W1 is near; it is not told apart from far (correlated t-test)."
    )


def test_on_one_split_who_is_first_is_compared(tmp_path: Path) -> None:
    found = compared_alone(tmp_path)
    same, said = agreement(found)
    assert not same and said.endswith("(Spearman); of fewer than 3 splits no test is made.")
    assert nearest(found).endswith("of fewer than 3 splits no test is made.")


def compared_alone(outputs: Path) -> Comparison:
    """One of whose four splits all but one diverged."""
    lost = {"diverged": [0, 1, 1, 1]}
    make_chains(outputs, **lost)
    make_approximation(outputs, "near", 0.1, log_likelihood=LIKELY - 1, **lost)
    make_approximation(outputs, "far", 0.3, log_likelihood=LIKELY, **lost)
    return compared(outputs)


def test_chains_long_enough_and_too_short(tmp_path: Path) -> None:
    """Five times the distance between the halves is asked for."""
    make_chains(tmp_path)
    make_approximation(tmp_path, "near", 0.1)
    enough, said = length(compared(tmp_path))
    assert enough and "near, 0.1: 10.0 times as much." in said
    make_approximation(tmp_path, "nearer", 0.03)
    enough, said = length(compared(tmp_path))
    assert not enough and said.endswith("the chains are too short.")


def test_chains_that_have_not_mixed_are_no_gold_standard() -> None:
    good, said = convergence(pd.DataFrame({"diag.r_hat": [1.01, 1.04]}))
    assert good and "at most 1.040" in said
    good, said = convergence(pd.DataFrame({"diag.r_hat": [1.01, 1.2]}))
    assert not good and "not converged on 1 of 2 splits" in said
    for unknown in (pd.DataFrame({"split": [0]}), pd.DataFrame({"diag.r_hat": [1.0, np.nan]})):
        good, said = convergence(unknown)
        assert not good and "no R-hat on record" in said


def test_ranks_by_every_distance(outputs: Path) -> None:
    """A point estimate has no correlation, and the worst ratio."""
    make_approximation(outputs, "certain", 0.3, wider=0.0)
    found = compared(outputs)
    by = {metric.key: ranks(found, metric) for metric in DISTANCES}
    names = by["w1"].index.map(found.names)
    assert list(order(found, DISTANCES[0]).index.map(found.names)) == ["near", "certain"]
    for key in ("w1", "w1_drawn", "w2", "epistemic_misfit"):
        assert dict(zip(names, by[key], strict=True)) == {"near": 1, "certain": 2}
