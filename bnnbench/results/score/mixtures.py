"""Stored predictive distributions: one mixture of Gaussians per test point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bnnbench import log_normal
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import MIXTURE
from bnnbench.experiment.store.stored_files import check_numeric, read_arrays, reading


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
