"""Stored predictions of finished runs: one mixture of Gaussians per test point, split by split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench import log_normal
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
from bnnbench.experiment.store.stored_files import check_numeric, read_arrays, reading
from bnnbench.results.read.run_files import (
    read_columns,
    read_out_of_fold,
    read_splits,
    read_test_points,
)


@dataclass(frozen=True)
class Mixture:
    """Equally weighted components `Normal(loc[m, s], epistemic[m, s] + noise[m, s])` of M points.

    Attributes:
        loc: `[M, S]`.
        epistemic: variance inside a component, `[M, S]`, or `[M, 1]` where all share it.
        noise: variance of the observation noise, same shape.
        log: whether these are of the logarithm of the target, which is then log-normal.
    """

    loc: np.ndarray
    epistemic: np.ndarray
    noise: np.ndarray
    log: bool = False

    @property
    def components(self) -> int:
        """The number S of components per point."""
        return int(self.loc.shape[1])

    @cached_property
    def deviation(self) -> np.ndarray:
        """The standard deviation of each component, `[M, S]` or `[M, 1]`."""
        return np.asarray(np.sqrt(self.epistemic + self.noise))

    def moments(self) -> tuple[np.ndarray, ...]:
        """Return means, epistemic variances and noise variances of the target, `[M]` each."""
        if self.log:
            return log_normal.moments(self.loc.T, self.epistemic.T, self.noise.T)
        noise = np.broadcast_to(self.noise.mean(1), len(self.loc))
        return self.loc.mean(1), self.loc.var(1) + self.epistemic.mean(1), noise

    def epistemic_deviation(self) -> np.ndarray:
        """Return the epistemic standard deviation, `[M]`: spread of `loc` plus mean `epistemic`."""
        return np.asarray(np.sqrt(self.moments()[1]))

    def without_noise(self) -> Mixture:
        """Return the distributions of the network's outputs, without observation noise."""
        return replace(self, noise=np.zeros_like(self.noise))

    def fitted(self, values: np.ndarray) -> np.ndarray:
        """Return targets as they were fitted; a logarithm is -inf for those not above 0."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(values, 0)) if self.log else values

    def targets(self, fitted: np.ndarray) -> np.ndarray:
        """Return the targets that were fitted as these values."""
        with np.errstate(over="ignore"):
            return np.exp(fitted) if self.log else fitted

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Return standard scores under each component, `[M, K, S]`.

        Args:
            values: K values for each point, `[M, K]`, or for all, `[1, K]`.
        """
        fitted = self.fitted(values)[..., None]
        return np.asarray((fitted - self.loc[:, None]) / self.deviation[:, None])

    def select_points(self, index: np.ndarray | slice) -> Mixture:
        """Return the mixtures of the selected points."""
        return Mixture(self.loc[index], self.epistemic[index], self.noise[index], self.log)

    def select_components(self, index: slice) -> Mixture:
        """Return the selected components of every point."""
        parts = (self.epistemic, self.noise)
        epistemic, noise = (p[:, index] if p.shape[1] > 1 else p for p in parts)
        return replace(self, loc=self.loc[:, index], epistemic=epistemic, noise=noise)


@dataclass(frozen=True)
class StoredMixtures:
    """The predictive mixtures of one run.

    Attributes:
        split: split of each point, `[M]`.
        row: row of each point in the table, `[M]`.
        mixture: mixtures of all points, in standardised units (mean and standard deviation of the
            split's training targets).
    """

    split: np.ndarray
    row: np.ndarray
    mixture: Mixture


def has_mixtures(folder: RunFolder) -> bool:
    """Return whether a run stored its predictive mixtures."""
    return folder.arrays(MIXTURE).exists()


def read_mixtures(folder: RunFolder) -> StoredMixtures:
    """Read the predictive mixtures of a run's test points.

    Raises:
        UserError: if the file is missing or damaged.
    """
    path = folder.arrays(MIXTURE)
    arrays = read_arrays(path)
    with reading(path):
        check_numeric(arrays, ("split", "row"))
        loc, epistemic, noise = (arrays[n].astype(float) for n in ("loc", "epistemic", "noise"))
        points, components = loc.shape
        shapes = {(points, components), (points, 1)}
        if not components or not {epistemic.shape, noise.shape} <= shapes:
            raise ValueError
        if not arrays["split"].shape == arrays["row"].shape == (points,):
            raise ValueError
        return StoredMixtures(arrays["split"], arrays["row"], Mixture(loc, epistemic, noise))


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
