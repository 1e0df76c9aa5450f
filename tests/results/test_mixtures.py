"""Predictive mixtures as runs keep them, and what is read of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.runs import make_run
from support.tiny_runs import finished, tiny_run

from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.experiment.split_files import MIXTURE, PREDICTIONS
from bnnbench.results.mixtures import Mixture, keeps_mixtures, read_mixtures
from bnnbench.types import UserError

KEPT = ("evaluation.mixture=true", "evaluation.out_of_fold=false", "search=none")

MODEL = ("method.prior_precision=1", "method.noise_precision=4")


def test_what_is_kept_is_what_was_predicted(table_csv: Path, tmp_path: Path) -> None:
    """In standardised units: moments, noise and order are those of `predictions.npz`."""
    run = tiny_run(table_csv, tmp_path, "method=vadam", *KEPT, *MODEL)
    assert isinstance(run.experiment, SplitExperiment)
    folder, splits = finished(run)
    kept, table = read_mixtures(folder), run.experiment.table
    with np.load(folder.arrays(PREDICTIONS)) as arrays:
        points = pd.DataFrame({name: arrays[name] for name in arrays.files})
    assert kept.mixture.loc.shape == (len(points), 5) and kept.mixture.noise.shape[1] == 1
    assert (kept.split == points["split"]).all() and (kept.row == points["row"]).all()
    assert kept.mixture.noise == pytest.approx(0.25)
    for number in splits["split"]:
        own = kept.split == number
        trained = table.targets[table.splits[number].train]
        mean = trained.mean() + trained.std() * kept.mixture.loc[own].mean(1)
        assert mean == pytest.approx(points.loc[own, "mean"].to_numpy(), rel=1e-5)
        width = trained.std() * kept.mixture.rows(own).epistemic_deviation()
        theirs = np.sqrt(points.loc[own, "epistemic_variance"].to_numpy())
        assert width == pytest.approx(theirs, rel=1e-4)


def test_keeping_them_makes_no_other_run(table_csv: Path, tmp_path: Path) -> None:
    run = tiny_run(table_csv, tmp_path, "method=map", *KEPT, *MODEL)
    assert isinstance(run.experiment, SplitExperiment)
    evaluation = replace(run.experiment.evaluation, mixture=False)
    assert replace(run.experiment, evaluation=evaluation).identity() == run.experiment.identity()


def test_components_and_halves() -> None:
    """A variance that components share stays with each part of them."""
    shared = Mixture(np.arange(8.0).reshape(2, 4), np.full((2, 1), 0.5), np.ones((2, 4)))
    half = shared.some(slice(2, None))
    assert half.loc.tolist() == [[2, 3], [6, 7]] and half.noise.shape == (2, 2)
    assert half.epistemic.shape == (2, 1)
    assert half.epistemic_deviation() == pytest.approx(np.sqrt(0.25 + 0.5))
    assert shared.rows(slice(0, 1)).deviation == pytest.approx(np.sqrt(1.5))


def test_a_file_that_is_missing_or_damaged(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    assert not keeps_mixtures(folder)
    for text in (None, "no arrays"):
        if text:
            folder.arrays(MIXTURE).write_text(text)
        with pytest.raises(UserError, match=r"mixture\.npz is damaged"):
            read_mixtures(folder)
