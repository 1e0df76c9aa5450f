"""A run on gradient variances: its answers, figures and claims."""

from __future__ import annotations

import numpy as np
import pytest
from support.toy_runs import refuted, toy_run

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS
from bnnbench.suites.inference_toys.gradient_variance import claims
from bnnbench.suites.inference_toys.gradient_variance.page import EXPERIMENT_PAGE
from bnnbench.suites.inference_toys.gradient_variance.tables import BIAS, VARIANCES, read_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    small = ("draws=5000", "samples=[1,10]", "rows=12")
    return toy_run(EXPERIMENT_PAGE, tmp_path_factory.mktemp("out"), *small)


def test_two_claims_do_not_hold(folder: RunFolder) -> None:
    assert set(refuted(EXPERIMENT_PAGE, folder).items()) == {
        ("Gradient estimates by eq. 3.77 are biased because of the logarithm", "not confirmed"),
        ("With equal samples, the pathwise gradient converges closer than the control variate",
         "not confirmed"),
    }  # fmt: skip


def test_means_and_variances_agree_with_exact_values(folder: RunFolder) -> None:
    """The book's A.1: every estimator is unbiased."""
    run = read_run(folder)
    rows = run[ANSWERS][run[ANSWERS]["quantity"].str.startswith("variance")]
    rows = rows[rows["exact"] > 0]
    distance = (rows["value"] - rows["exact"]).abs() / rows["standard_error"]
    assert len(rows) == 18 + 6 + 4 + 4 + 2 and distance.max() < 5
    rows = run[VARIANCES]
    errors = rows["mean_error"].clip(lower=1e-9 * rows["gradient"].abs().clip(lower=1))
    assert ((rows["mean"] - rows["gradient"]).abs() / errors).max() < 5


@pytest.mark.parametrize("enumerated", [True, False])
def test_bias_is_detected(folder: RunFolder, enumerated: bool) -> None:
    run = read_run(folder)
    rows = run[BIAS]
    shift = np.where(rows["error"].isna() == enumerated, 6 * rows["error"].fillna(0.01), 0.0)
    biased = run.with_columns(BIAS, mean=rows["mean"] + shift)
    assert claims.is_biased_by_logarithm(biased)[0] is True
