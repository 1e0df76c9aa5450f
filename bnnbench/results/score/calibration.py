"""Calibration of credible intervals (book, section 4.2.2), and recalibration.

Everything is computed from predictions of test points and out-of-fold predictions of training
points, in original units; nothing is retrained. The predictive density is taken as a Gaussian with
the total variance (epistemic + noise), or as the log-normal with the mean and variance of the
logarithm if that was fitted. A run's own page computes its table; reports over many runs read these
tables.

Recalibration maps predicted to observed probabilities; the maps are fitted to held-out PIT values.
Kuleshov et al., "Accurate Uncertainties for Deep Learning Using Calibrated Regression", ICML
2018: if targets fall below the predicted quantile `p` with frequency `R(p)`, then the composition
of `R` and the predicted CDF is calibrated. The book names both ways to fit `R` (section 4.2.2,
Fig. 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from scipy.special import gammaln, ndtr, ndtri

from bnnbench.experiment.store.split_files import LOG_MEAN, LOG_VARIANCE
from bnnbench.portable_math import exp, log, total_deviation
from bnnbench.results.read.run_files import (
    CALIBRATION_METRICS,
    REPORTED_LEVELS,
    read_out_of_fold,
    read_test_points,
)
from bnnbench.results.read.run_tables import Runs

Points: TypeAlias = pd.DataFrame | Mapping[str, np.ndarray]
"""Predictive moments of M points, see `bnnbench.experiment.splits.fitting.moments`."""

MIN_PIT = 1e-6
"""PIT values are clipped to `[MIN_PIT, 1 - MIN_PIT]`, where the logit is finite."""


@dataclass(frozen=True)
class Recalibration:
    """An increasing map of `[0, 1]` onto itself, and its inverse.

    Attributes:
        forward: the map.
        inverse: its inverse.
        ends: observed probabilities between which the inverse depends on its argument.
    """

    forward: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray], np.ndarray]
    ends: tuple[float, float] = (0.0, 1.0)

    def __call__(self, pit: np.ndarray) -> np.ndarray:
        return self.forward(pit)


identity = Recalibration(lambda pit: pit, lambda pit: pit)


def observed_frequencies(pit: np.ndarray) -> np.ndarray:
    """Return the fraction of values below each of the sorted values, inside (0, 1)."""
    return np.asarray((np.arange(len(pit)) + 0.5) / len(pit))


def isotonic(pit: np.ndarray) -> Recalibration:
    """Fit an isotonic regression of the observed frequency on the predicted probability.

    The map interpolates linearly between held-out values, so it needs many of them; beyond the
    outermost one it continues to 0 and 1.
    """
    from sklearn.isotonic import IsotonicRegression

    p = np.clip(np.sort(pit), MIN_PIT, 1 - MIN_PIT)
    fitted = IsotonicRegression(y_min=0, y_max=1).fit(p, observed_frequencies(p))
    x = np.concatenate([[0.0], fitted.X_thresholds_, [1.0]])
    y = np.concatenate([[0.0], fitted.y_thresholds_, [1.0]])

    def inverse(levels: np.ndarray) -> np.ndarray:
        # Intervals end at the outermost observed value, not at infinity.
        return np.asarray(np.clip(np.interp(levels, y, x), x[1], x[-2]))

    return Recalibration(lambda new: np.interp(new, x, y), inverse, (y[1], y[-2]))


def platt(pit: np.ndarray) -> Recalibration:
    """Fit Platt-style scaling, `R(p) = sigmoid(slope * logit(p) + shift)`.

    Maximum-likelihood logistic regression of the observed frequency on the logit of the predicted
    probability. With two parameters it needs little data and corrects only scale and bias.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, logit

    p = np.clip(np.sort(pit), MIN_PIT, 1 - MIN_PIT)
    x, y = logit(p), observed_frequencies(p)

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        slope, shift = np.exp(parameters[0]), parameters[1]  # the map must increase
        z = slope * x + shift
        error = expit(z) - y
        value = (np.logaddexp(0, z) - y * z).mean()
        return float(value), np.array([(error * x).mean() * slope, error.mean()])

    parameters = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    slope, shift = float(np.exp(parameters[0])), float(parameters[1])

    def forward(new: np.ndarray) -> np.ndarray:
        return np.asarray(expit(slope * logit(np.clip(new, MIN_PIT, 1 - MIN_PIT)) + shift))

    def inverse(levels: np.ndarray) -> np.ndarray:
        pit = expit((logit(np.clip(levels, MIN_PIT, 1 - MIN_PIT)) - shift) / slope)
        return np.asarray(np.clip(pit, MIN_PIT, 1 - MIN_PIT))

    return Recalibration(forward, inverse)


RECALIBRATIONS: dict[str, Callable[[np.ndarray], Recalibration]] = {
    "isotonic": isotonic,
    "platt": platt,
}


LEVELS = np.linspace(0.05, 0.95, 19)
"""Credible levels over which the calibration error is averaged."""

RECALIBRATION_NAMES = {
    "isotonic": "after isotonic regression",
    "platt": "after Platt-style scaling",
}
"""Printed names of `RECALIBRATIONS`."""


def standard_scores(points: Points, targets: np.ndarray | pd.Series) -> np.ndarray:
    """Return the standard normal scores of targets of the points, `[M]`."""
    if LOG_MEAN in points:
        error = log(np.asarray(targets)) - points[LOG_MEAN]
        return np.asarray(error / np.sqrt(points[LOG_VARIANCE]))
    return np.asarray((targets - points["mean"]) / total_deviation(points))


def ends_from_mean(points: Points, score: float | np.ndarray) -> np.ndarray:
    """Return values with a standard normal score, less the means, `[M]`; `[K, M]` for `[K, 1]`."""
    if LOG_MEAN not in points:
        return np.asarray(score * total_deviation(points))
    loc, variance, mean = (np.asarray(points[name]) for name in (LOG_MEAN, LOG_VARIANCE, "mean"))
    with np.errstate(invalid="ignore"):  # both may be infinite
        return np.asarray(exp(loc + score * np.sqrt(variance)) - mean)


def pit_values(points: pd.DataFrame) -> np.ndarray:
    """Return the predictive CDF at each target (PIT values), uniform if calibrated.

    Args:
        points: `target` and the prediction of each point, see `standard_scores`.
    """
    return np.asarray(ndtr(standard_scores(points, points["target"])))


def coverage(
    points: pd.DataFrame, levels: np.ndarray, recalibrated: Recalibration = identity
) -> np.ndarray:
    """Return the fraction of targets inside the central credible interval of each level.

    `recalibrated` is applied to the PIT values.
    """
    distance = np.abs(2 * recalibrated(pit_values(points)) - 1)
    return np.asarray((distance <= levels[:, None]).mean(axis=1))


def mean_widths(
    points: pd.DataFrame, levels: np.ndarray, recalibrated: Recalibration = identity
) -> np.ndarray:
    """Return the mean width of the central interval of each level, in the target's unit."""
    low, high = (ndtri(recalibrated.inverse((1 + sign * levels) / 2)) for sign in (-1, 1))
    ends = (ends_from_mean(points, scores[:, None]) for scores in (high, low))
    return np.asarray(np.subtract(*ends).mean(1))


def recalibrated_splits(
    points: pd.DataFrame, held_out: pd.DataFrame | None, name: str
) -> Iterator[tuple[pd.DataFrame, Recalibration]]:
    """Yield the points of each split with its recalibration, `none` or one that can be fitted.

    Args:
        points: as for `pit_values`, with `split`.
        held_out: out-of-fold predictions of the training parts, in the same form.
        name: `none` or a key of `RECALIBRATIONS`.
    """
    for split, group in points.groupby("split"):
        if name == "none":
            yield group, identity
        elif held_out is not None and len(own := held_out[held_out["split"] == split]):
            yield group, RECALIBRATIONS[name](pit_values(own))


def calibration_table(points: pd.DataFrame, held_out: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return calibration and sharpness of each split, before and after recalibration.

    Args:
        points: test points, as for `pit_values`, with `split`.
        held_out: out-of-fold predictions of the training part; None skips recalibration.

    Returns:
        A row per recalibration and split: `recalibration` (`none` or a key of `RECALIBRATIONS`);
        `split`; `calibration_error`, the mean over `LEVELS` of the absolute difference between
        coverage and level (the expected calibration error of a regression);
        `coverage_<level>`; `width_<level>`, the mean width of that interval (sharpness, in the
        target's unit).
    """
    rows = []
    for name in ("none", *RECALIBRATIONS):
        for group, recalibrated in recalibrated_splits(points, held_out, name):
            coverages = coverage(group, np.array(REPORTED_LEVELS), recalibrated)
            widths = mean_widths(group, np.array(REPORTED_LEVELS), recalibrated)
            error = np.abs(coverage(group, LEVELS, recalibrated) - LEVELS).mean()
            split = group["split"].iloc[0]
            rows.append([name, split, *(float(value) for value in (error, *coverages, *widths))])
    return pd.DataFrame(rows, columns=["recalibration", "split", *CALIBRATION_METRICS])


def run_calibration(runs: Runs, run: str) -> pd.DataFrame | None:
    """Return the calibration table of the run's page, recomputed if missing; None if impossible."""
    folder, table = runs.folders[run], runs.calibrations.get(run)
    splits = runs.splits[runs.splits["run"] == run]
    if table is None and (points := read_test_points(folder, splits)) is not None:
        table = calibration_table(points, read_out_of_fold(folder))
    return table


def calibration_floor(rows: np.ndarray | int) -> np.ndarray:
    """Return the expected calibration error of a perfect model.

    Of n points a fraction X / n lies inside an interval of level p, with X binomial, and the error
    is the mean over `LEVELS` of |X / n - p|. Its expectation is exact (De Moivre 1730):
    E|X - n p| = 2 k (1 - p) P(X = k) with k the smallest integer above n p.

    Args:
        rows: numbers of test points, `[N]` or scalar.

    Returns:
        `[N]` or scalar; about 0.33 / sqrt(n).
    """
    n = np.asarray(rows, dtype=float)[..., None]
    k = np.floor(n * LEVELS) + 1
    log_binomial = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    probability = np.exp(log_binomial + k * np.log(LEVELS) + (n - k) * np.log1p(-LEVELS))
    return np.asarray((2 * k * (1 - LEVELS) * probability / n).mean(axis=-1))


def gather_calibration(runs: Runs) -> pd.DataFrame:
    """Return the calibration of every run with predictions, over splits that did not diverge.

    Returns:
        Rows in the order of `Runs.scored`, by `run` and `recalibration`; `<metric>_mean` and
        `<metric>_stderr` for each of `CALIBRATION_METRICS`, and `calibration_floor`, the mean
        over the splits of the value for a perfect model.
    """
    tables = {run: run_calibration(runs, str(run)) for run in runs.scored.index}
    pieces = [table.assign(run=run) for run, table in tables.items() if table is not None]
    if not pieces:
        return pd.DataFrame()
    groups = pd.concat(pieces).groupby(["run", "recalibration"], sort=False)[
        list(CALIBRATION_METRICS)
    ]
    means, counts = groups.mean(), groups.size()
    errors = groups.std(ddof=1).div(counts.map(math.sqrt), axis=0)
    both = means.add_suffix("_mean").join(errors.add_suffix("_stderr"))
    valid = runs.splits[runs.splits["diverged"] == 0]
    floors = valid.assign(floor=calibration_floor(valid["test_rows"].to_numpy()))
    floor = floors.groupby("run")["floor"].mean().reindex(both.index.get_level_values("run"))
    names = [f"{quality}_{kind}" for quality in CALIBRATION_METRICS for kind in ("mean", "stderr")]
    return both[names].assign(calibration_floor=floor.to_numpy())
