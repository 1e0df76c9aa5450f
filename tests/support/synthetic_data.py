"""Predictive curves on one-dimensional synthetic data with known calibration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import PREDICTIONS, TRAINING
from bnnbench.results.score.curves import METADATA_COLUMNS, Curve
from support.runs import add_arrays, make_run

TRAINED = {"input": [0.0, 0.4, 1.0], "target": [0.1, 0.0, -0.1]}
"""Training points between 0 and 1."""


def curve(label: str = "a", dataset: str = "toy", **names: Any) -> Curve:
    """Return predictions that are exact inside the data's range, from 0 to 1.

    Outside, the mean is off by 2 and the standard deviation is twice as large.
    """
    x = np.linspace(-1, 2, 301)
    outside = (x < 0) | (x > 1)
    grid = pd.DataFrame({
        "input": x,
        "target": 0.0,
        "truth": 0.0,
        "mean": np.where(outside, 2.0, 0.0),
        "epistemic_variance": np.where(outside, 0.36, 0.09),
        "noise_variance": np.where(outside, 0.64, 0.16),
    })  # fmt: skip
    run = {**dict.fromkeys(METADATA_COLUMNS, "-"), "label": label, "dataset": dataset, **names}
    return Curve(run, grid, pd.DataFrame(TRAINED))


def calibrated(scale: float, **names: Any) -> Curve:
    """Return targets at the quantiles of a standard normal, predicted with `scale`."""
    given = curve(**names)
    grid = given.grid.assign(mean=0.0, epistemic_variance=0.0, noise_variance=scale**2)
    within = (grid["input"] >= 0) & (grid["input"] <= 1)
    places = (np.arange(within.sum()) + 0.5) / within.sum()
    grid.loc[within, "target"] = norm.ppf(places)
    return Curve(given.run, grid, given.training)


def make_curve_run(outputs: Path, scale: float, **names: Any) -> RunFolder:
    """Write a run of one split with the predictions of `calibrated` and its training points."""
    lone = {"split": [0], "at_bound": "", "rmse": 1.0}
    kinds = ("log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian")
    variant = f"depth{names.get('depth', 1)}-{names.get('divergence', 'kl')}"
    scores = {**lone, **dict.fromkeys(kinds, -1.0)}
    folder = make_run(outputs, variant, **{"synthetic": True, "inputs": 1, **scores, **names})
    grid = calibrated(scale).grid
    arrays = {name: grid[name].to_numpy() for name in grid}
    add_arrays(folder, PREDICTIONS, {"split": np.zeros(len(grid), int), **arrays})
    add_arrays(folder, TRAINING, {"split": np.zeros(3, int), "row": np.arange(3), **TRAINED})
    return folder
