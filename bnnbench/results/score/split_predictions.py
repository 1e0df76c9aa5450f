"""Stored predictions of finished runs, split by split, for scores that are computed afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import (
    FOLDS,
    LOG_MEAN,
    LOG_VARIANCE,
    MIXTURE,
    MOMENTS,
    OUT_OF_FOLD,
    PREDICTIONS,
    SPLITS,
)
from bnnbench.results.read.run_files import (
    read_columns,
    read_out_of_fold,
    read_splits,
    read_test_points,
)
from bnnbench.results.score.mixtures import Mixture, has_mixtures, read_mixtures


@dataclass(frozen=True)
class SplitPredictions:
    """The predictions of one split in original units.

    Attributes:
        split: its index.
        points: the M test points, as in `predictions.npz`.
        mixture: their predictive mixtures; single components with the same moments if they were not
            saved.
        held_out: out-of-fold predictions of the training points; empty if they were not saved.
        fold_means: predictive means of the networks of K folds, `[M, K]`; None if they were not
            saved, or a fold diverged.
    """

    split: int
    points: pd.DataFrame
    mixture: Mixture
    held_out: pd.DataFrame
    fold_means: np.ndarray | None = None


def prediction_files(folder: RunFolder) -> list[Path]:
    """Return the paths of all files that `split_predictions` may read."""
    arrays = map(folder.arrays, (PREDICTIONS, OUT_OF_FOLD, FOLDS, MIXTURE))
    return [folder.table(SPLITS), *arrays]


def split_predictions(folder: RunFolder) -> Iterator[SplitPredictions]:
    """Yield the predictions of each split that did not diverge.

    Raises:
        UserError: if a file is damaged.
    """
    points = read_test_points(folder, read_splits(folder))
    if points is None:
        return
    held_out, folds = read_out_of_fold(folder), read_columns(folder, FOLDS)
    stored = read_mixtures(folder).mixture if has_mixtures(folder) else None
    for split, own in points.groupby("split"):
        mixture = _gaussians(own)
        if stored is not None:
            mixture = _with_moments(stored.select_points(own.index.to_numpy()), mixture)
        held = pd.DataFrame() if held_out is None else held_out[held_out["split"] == split]
        means = None if folds is None else folds.loc[own.index].filter(like="fold_").to_numpy()
        means = None if means is None or np.isnan(means).any() else means
        mixture = replace(mixture, log=LOG_MEAN in own)
        yield SplitPredictions(int(str(split)), own, mixture, held, means)


def _gaussians(points: pd.DataFrame) -> Mixture:
    """Return Gaussians with the moments of some points, or of their logarithms."""
    if LOG_MEAN in points:
        loc, variance = (points[name].to_numpy(float)[:, None] for name in (LOG_MEAN, LOG_VARIANCE))
        return Mixture(loc, variance, np.zeros_like(variance))
    return Mixture(*(points[name].to_numpy(float)[:, None] for name in MOMENTS))


def _with_moments(mixture: Mixture, gaussians: Mixture) -> Mixture:
    """Return standardised mixtures in the units in which they have the moments of `gaussians`."""
    variance = mixture.epistemic_deviation() ** 2 + mixture.noise.mean(1)
    scale = np.sqrt((gaussians.deviation[:, 0] ** 2).sum() / variance.sum())
    shift = (gaussians.loc[:, 0] - scale * mixture.loc.mean(1)).mean()
    variances = (scale**2 * part for part in (mixture.epistemic, mixture.noise))
    return Mixture(shift + scale * mixture.loc, *variances)
