"""Predictive distributions that runs kept: one mixture of Gaussians per test point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import MIXTURE
from bnnbench.results.run_files import BROKEN, damaged


@dataclass(frozen=True)
class Mixture:
    """Of each of M points the equally weighted `Normal(loc[m, s], epistemic[m, s] + noise[m, s])`.

    Attributes:
        loc: `[M, S]`.
        epistemic: variance inside a component, `[M, S]`, or `[M, 1]` where all share it.
        noise: variance of the observation noise, likewise.
    """

    loc: np.ndarray
    epistemic: np.ndarray
    noise: np.ndarray

    @property
    def components(self) -> int:
        """S."""
        return self.loc.shape[1]

    @cached_property
    def deviation(self) -> np.ndarray:
        """The standard deviation of each component, `[M, S]` or `[M, 1]`."""
        return np.sqrt(self.epistemic + self.noise)

    def epistemic_deviation(self) -> np.ndarray:
        """What the weights are unsure of, `[M]`: spread of `loc` and mean inner variance."""
        found: np.ndarray = np.sqrt(self.loc.var(1) + self.epistemic.mean(1))
        return found

    def rows(self, some: np.ndarray | slice) -> Mixture:
        """The mixtures of some points."""
        return Mixture(self.loc[some], self.epistemic[some], self.noise[some])

    def some(self, which: slice) -> Mixture:
        """Some of the components of every point."""
        parts = (self.epistemic, self.noise)
        return Mixture(self.loc[:, which], *(p[:, which] if p.shape[1] > 1 else p for p in parts))


@dataclass(frozen=True)
class KeptMixtures:
    """What one run kept.

    Attributes:
        split: of each point, `[M]`.
        row: of the table, likewise.
        mixture: of all points, in standardised units: the target less its mean over the training
            part, over its standard deviation there.
    """

    split: np.ndarray
    row: np.ndarray
    mixture: Mixture


def keeps_mixtures(folder: RunFolder) -> bool:
    """Whether a run was asked to keep them."""
    return folder.arrays(MIXTURE).exists()


def read_mixtures(folder: RunFolder) -> KeptMixtures:
    """The predictive mixtures of a run's test points.

    Raises:
        UserError: if the file is missing or damaged.
    """
    path = folder.arrays(MIXTURE)
    try:
        with np.load(path) as arrays:
            parts = [arrays[name].astype(float) for name in ("loc", "epistemic", "noise")]
            return KeptMixtures(arrays["split"], arrays["row"], Mixture(*parts))
    except BROKEN:
        raise damaged(path) from None
