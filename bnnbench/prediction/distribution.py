"""Predictive distributions of new rows, as mixtures of Gaussians or log-normals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bnnbench.constraints import check_between
from bnnbench.portable_math import numpy_defaults
from bnnbench.prediction.model import Model
from bnnbench.prediction.prediction_table import prediction_table
from bnnbench.results.score.predictions import Mixture
from bnnbench.results.score.predictive_distances import exact_quantiles, mixture_cdf, sample
from bnnbench.types import UserError


@dataclass(frozen=True)
class PredictiveDistribution:
    """The predictive distributions of M rows, in units of the target.

    `log_pdf`, `pdf` and `cdf` take a number for all rows or one for each row, `[M]`, and return
    `[M]`. From `[M, K]`, or `[1, K]` for all rows, they return `[M, K]`. Other shapes are refused.

    Attributes:
        mixture: the distributions: one Gaussian (or log-normal) for each sampled network.
        index: labels of the rows.
    """

    mixture: Mixture
    index: pd.Index

    @property
    def mean(self) -> np.ndarray:
        """Predictive means, `[M]`."""
        return self.mixture.moments()[0]

    @property
    def std(self) -> np.ndarray:
        """Predictive standard deviations, `[M]`: epistemic uncertainty and noise."""
        return np.asarray(np.hypot(self.epistemic_std, self.noise_std))

    @property
    def epistemic_std(self) -> np.ndarray:
        """Standard deviations due to the uncertainty of the model, `[M]`."""
        return self.mixture.epistemic_deviation()

    @property
    def noise_std(self) -> np.ndarray:
        """Standard deviations of the noise, `[M]`."""
        return np.asarray(np.sqrt(self.mixture.moments()[2]))

    @numpy_defaults()
    def log_pdf(self, values: np.ndarray | float) -> np.ndarray:
        """Return log-densities at some targets."""
        columns = self._columns("values", values)
        scores = self.mixture.scores(columns)
        logs = -0.5 * scores**2 - np.log(self.mixture.deviation)[:, None]
        found = logsumexp(logs, axis=2, b=1 / self.mixture.components) - 0.5 * np.log(2 * np.pi)
        if self.mixture.log:  # the density of the target is that of its logarithm over the target
            found = found - np.log(np.where(columns > 0, columns, 1))
        return _shaped(found, np.ndim(values) == 2)

    def pdf(self, values: np.ndarray | float) -> np.ndarray:
        """Return densities at some targets."""
        return np.asarray(np.exp(self.log_pdf(values)))

    @numpy_defaults()
    def cdf(self, values: np.ndarray | float) -> np.ndarray:
        """Return the probabilities of a smaller target."""
        columns = self._columns("values", values)
        return _shaped(mixture_cdf(self.mixture, columns), np.ndim(values) == 2)

    @numpy_defaults()
    def quantile(self, levels: np.ndarray | Sequence[float] | float) -> np.ndarray:
        """Return the targets below which the distributions have the probability `levels`.

        Args:
            levels: a number, `[K]` or `[1, K]` for all rows, or `[M, K]` for each row.

        Returns:
            `[M]` for a number, else `[M, K]`; found by Newton's method.

        Raises:
            UserError: if a level is not between 0 and 1, or the levels have another shape.
        """
        given = np.asarray(levels, dtype=float)
        wanted = self._columns("levels", given[None] if given.ndim == 1 else given)
        if not ((wanted > 0) & (wanted < 1)).all():
            raise UserError(f"levels must be above 0 and below 1, not {levels}.", "levels")
        return _shaped(exact_quantiles(self.mixture, wanted), given.ndim > 0)

    def _columns(self, name: str, given: np.ndarray | float) -> np.ndarray:
        """Return a number for all rows as `[1, 1]`, one for each row as `[M, 1]`, and `[., K]`."""
        array, rows = np.asarray(given, dtype=float), len(self.mixture.loc)
        columns = array if array.ndim == 2 else array.reshape(-1, 1)
        allowed = {0: (1,), 1: (rows,), 2: (1, rows)}.get(array.ndim, ())
        if len(columns) not in allowed:
            raise UserError(
                f"{name} must be a number, {rows} numbers, or an array with 1 or {rows} rows, not "
                f"of shape {list(np.shape(given))}.",
                name,
                "wrong_shape",
            )
        return columns

    def interval(self, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of the central interval with this probability, `[M]` each.

        Raises:
            UserError: if the level is not between 0 and 1.
        """
        check_between("level", level, 0, 1)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @numpy_defaults()
    def sample(
        self, size: int = 1, random_state: int | np.random.Generator | None = None
    ) -> np.ndarray:
        """Draw targets, `[M, size]`, independently for each row."""
        return sample(self.mixture, np.random.default_rng(random_state), size)

    def to_frame(self, level: float = 0.9) -> pd.DataFrame:
        """Return the columns `prediction_table.COLUMNS`, with the index of the rows.

        Raises:
            UserError: if the level is not between 0 and 1.
        """
        values = self.mean, *self.interval(level), self.std, self.epistemic_std, self.noise_std
        return prediction_table(*values, index=self.index)


def _shaped(found: np.ndarray, several: bool) -> np.ndarray:
    """Return `[M, K]` as `[M]`, unless several numbers were given for each row."""
    return found if several else found[:, 0]


@numpy_defaults()
def predictive_distribution(
    model: Model, inputs: np.ndarray, index: pd.Index
) -> PredictiveDistribution:
    """Predict new rows.

    Args:
        model: the model.
        inputs: `[M, D]`, original units, NaN for missing values.
        index: labels of the rows.

    Raises:
        UserError: if a prediction is not finite.
    """
    chunks = list(model.predictive(inputs))

    def joined(name: str) -> np.ndarray:
        parts = [getattr(one, name).expand(one.loc.shape)[:, 0].T.cpu().numpy() for one in chunks]
        return np.concatenate(parts)

    variances = [joined(name) for name in ("epistemic", "noise")]
    epistemic, noise = (x[:, :1] if (x == x[:, :1]).all() else x for x in variances)
    mixture = Mixture(joined("loc"), epistemic, noise, model.scaler.log)
    found = PredictiveDistribution(mixture, index)
    wrong = np.flatnonzero(~np.isfinite(found.mean + found.std))
    if wrong.size:
        raise UserError(
            f"the prediction of row {wrong[0] + 1} is not finite; its inputs or its variance may "
            "be too large.",
            "X",
            "not_finite",
        )
    return found
