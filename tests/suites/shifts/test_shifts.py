"""Detection of made rows: closed forms, leakage, and the files and pages of a run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import chi2, ncx2
from support.blocks import blocks, data_files
from support.config import TINY, compose

from bnnbench.config.assemble import build
from bnnbench.experiment.run.execution import execute
from bnnbench.report.renderers import markdown
from bnnbench.report.run_output import write_page
from bnnbench.suites.shifts.experiment import Shifts, detect, row_scores
from bnnbench.suites.shifts.page import mean_areas, read_outliers, section
from bnnbench.types import Prediction, Split, Table

ROWS, NOISE = 2000, 0.5
MAX_ERROR = 4 * math.sqrt(1 / (6 * ROWS))  # standard errors of an AUROC of 0.5


class GaussianRows:
    """Inputs from a standard normal distribution; the target is the first plus noise."""

    name = "gaussian"

    def load(self) -> Table:
        random = np.random.default_rng(0)
        x = random.normal(size=(2 * ROWS, 3))
        y = x[:, 0] + NOISE * random.normal(size=len(x))
        split = Split(0, np.arange(ROWS), np.arange(ROWS, 2 * ROWS))
        return Table("gaussian", x, y, (split,), ("a", "b", "c"), "y")


def scores_of(table: Table, epistemic: float = 1) -> dict[str, np.ndarray]:
    """Return the scores of a linear model with the true coefficients and noise.

    `epistemic` is the variance of the coefficients.
    """
    split = table.splits[0]
    x = torch.from_numpy(table.inputs[split.test])
    noise = torch.full((1, 1, 1), NOISE**2).double()
    return row_scores(
        table, split, Prediction(x[None, None, :, 0], epistemic * (x**2).sum(1), noise)
    )


def test_closed_forms() -> None:
    """A linear model's variance is a quadratic form, so it recognises shifts like chi-squares."""
    shifts = Shifts(GaussianRows(), strengths=(0, 1, 3))
    scores = scores_of(shifts.load())
    scores["density"] = scores_of(shifts.load(), 0)["density"]
    rows = pd.DataFrame(detect(scores, shifts.variants, ROWS))
    areas = rows.set_index(["kind", "strength", "score"])["auroc"]
    assert areas["permuted"].to_numpy() == pytest.approx(0.5, abs=MAX_ERROR)
    assert (areas["shifted", 0.0] == 0.5).all()
    for k in (1, 3):
        expected = quad(lambda t, k=k: chi2.pdf(t, 3) * ncx2.sf(t, 3, k**2), 0, np.inf)[0]
        for score in ("epistemic", "total", "mahalanobis"):
            assert areas["shifted", k, score] == pytest.approx(expected, abs=MAX_ERROR)
    # Errors of test rows and of made rows are centred Gaussians with these deviations.
    ratio = math.sqrt(2 + NOISE**2) / NOISE
    expected = 2 / math.pi * math.atan(ratio)
    assert areas["targets", 0.0, "density"] == pytest.approx(expected, abs=MAX_ERROR)


def test_test_targets_change_no_score_of_inputs() -> None:
    table = Shifts(GaussianRows()).load()
    targets = table.targets.copy()
    targets[ROWS:] = np.random.default_rng(1).permutation(targets[ROWS:])
    before, after = scores_of(table), scores_of(replace(table, targets=targets))
    equal = {name: np.array_equal(before[name], after[name]) for name in before}
    assert not equal.pop("density") and all(equal.values()) and len(equal) == 4


def test_run_and_pages(tmp_path: Path) -> None:
    words = ["dataset=diabetes", "method=map", "method.prior_precision=1", "search=none", *TINY]
    words += ["method.noise_precision=5", "workers=1", f"outputs_dir={tmp_path}"]
    folder = execute(build(compose("experiment=shifted_uci", *words)))
    plain = execute(build(compose(*words, "evaluation.out_of_fold=false")))
    splits, expected = (pd.read_csv(one.table("splits")) for one in (folder, plain))
    for column in ("rmse", "log_likelihood", "crps", "test_rows"):
        assert splits[column].to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-5)
    with (
        np.load(folder.arrays("predictions")) as own,
        np.load(plain.arrays("predictions")) as other,
    ):
        assert np.array_equal(own["row"], other["row"]) and not folder.arrays("mixture").exists()
    table = read_outliers(folder).set_index("score")
    assert (table.loc[["epistemic", "total"], "auroc"] == 0.5).all()  # a constant variance
    assert (table.loc["density", "auroc"] > 0.5).all()
    assert write_page(folder) == []
    found = blocks(section, tmp_path)
    (data,) = data_files(found).values()
    assert len(data) == 2 * (4 * 4 + 1)
    areas = mean_areas(data)
    assert list(areas.index) == ["map", "distance to training rows", "Mahalanobis distance"]
    assert areas.loc["distance to training rows", "shift of 4"] > 0.9
    assert "shift of 2" in markdown.page(found)
