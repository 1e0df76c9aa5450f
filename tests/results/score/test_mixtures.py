"""Saving and reading predictive mixtures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.runs import make_run
from support.tiny_runs import finished, tiny_run
from support.user_errors import raises_user_error

from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import MIXTURE, PREDICTIONS
from bnnbench.results.score.predictions import Mixture, has_mixtures, read_mixtures

SAVED = ("evaluation.save_predictive_mixture=true", "evaluation.out_of_fold=false", "search=none")

MODEL = ("method.prior_precision=1", "method.noise_precision=4")


def test_stored_mixtures_match_the_predictions(table_csv: Path, tmp_path: Path) -> None:
    """In standardised units, moments, noise and order match `predictions.npz`."""
    run = tiny_run(table_csv, tmp_path, "method=vadam", *SAVED, *MODEL)
    assert isinstance(run.experiment, SplitExperiment)
    folder, splits = finished(run)
    saved, table = read_mixtures(folder), run.experiment.table
    with np.load(folder.arrays(PREDICTIONS)) as arrays:
        points = pd.DataFrame({name: arrays[name] for name in arrays.files})
    assert saved.mixture.loc.shape == (len(points), 5) and saved.mixture.noise.shape[1] == 1
    assert (saved.split == points["split"]).all() and (saved.row == points["row"]).all()
    assert saved.mixture.noise == pytest.approx(0.25)
    for number in splits["split"]:
        rows = saved.split == number
        train = table.targets[table.splits[number].train]
        mean = train.mean() + train.std() * saved.mixture.loc[rows].mean(1)
        assert mean == pytest.approx(points.loc[rows, "mean"].to_numpy(), rel=1e-5)
        epistemic_std = train.std() * saved.mixture.select_points(rows).epistemic_deviation()
        expected = np.sqrt(points.loc[rows, "epistemic_variance"].to_numpy())
        assert epistemic_std == pytest.approx(expected, rel=1e-4)


def test_selecting_components() -> None:
    """A variance that components share is kept."""
    shared = Mixture(np.arange(8.0).reshape(2, 4), np.full((2, 1), 0.5), np.ones((2, 4)))
    half = shared.select_components(slice(2, None))
    assert half.loc.tolist() == [[2, 3], [6, 7]] and half.noise.shape == (2, 2)
    assert half.epistemic.shape == (2, 1)
    assert half.epistemic_deviation() == pytest.approx(np.sqrt(0.25 + 0.5))
    assert shared.select_points(slice(0, 1)).deviation == pytest.approx(np.sqrt(1.5))


def test_a_missing_or_damaged_file(tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    assert not has_mixtures(folder)
    for text in (None, "no arrays"):
        if text:
            folder.arrays(MIXTURE).write_text(text)
        with raises_user_error("mixture.npz", "damaged"):
            read_mixtures(folder)
