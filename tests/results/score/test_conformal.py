"""Conformal intervals against MAPIE, and the distribution of their coverage."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from bnnbench.results.score.conformal import (
    CQR,
    CV_PLUS,
    LEVEL,
    conformal_radius,
    cv_plus,
    in_coverage_band,
    interval_ends,
)
from bnnbench.results.score.predictions import Mixture, SplitPredictions

ROWS, POINTS, FOLDS = 103, 40, 5
Z = 1.6448536269514722


class Column(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts a column of its inputs: of the training rows' fold, if there is one for each."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, x: np.ndarray, y: ArrayLike) -> Column:
        """Remember the fold without training rows."""
        (left,) = {*range(FOLDS)} - {*x[:, -1].astype(int)} or {0}
        self.fold_ = left
        return self

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the column of the fold, or `column`."""
        return x[:, getattr(self, "fold_", self.column)]


@pytest.fixture
def predictions() -> SplitPredictions:
    """Return predictions of different variances by the networks of five folds."""
    random = np.random.default_rng(1)

    def points(rows: int) -> pd.DataFrame:
        mean, variance = random.normal(size=rows), random.uniform(0.2, 3, rows)
        target = mean + 1.3 * np.sqrt(variance) * random.normal(size=rows)
        variances = {"epistemic_variance": variance / 2, "noise_variance": variance / 2}
        return pd.DataFrame({"target": target, "mean": mean, **variances})

    held_out, own = points(ROWS), points(POINTS)
    held_out["fold"] = np.sort(np.arange(ROWS) % FOLDS)
    means = own[["mean"]].to_numpy() + 0.3 * random.normal(size=(POINTS, FOLDS))
    mixture = Mixture(*(own[[name]].to_numpy() for name in own.columns[1:]))
    return SplitPredictions(0, own, mixture, held_out, fold_means=means)


def ends(predictions: SplitPredictions) -> dict[str, np.ndarray]:
    """Return both ends of all intervals, `[M, 2]`."""
    means = predictions.points["mean"].to_numpy()
    found = interval_ends(predictions)
    return {name: np.stack([means + low, means + high], 1) for name, low, high in found}


def test_intervals_are_those_of_mapie(predictions: SplitPredictions) -> None:
    mapie = pytest.importorskip("mapie.regression")
    held, own, found = predictions.held_out, predictions.points, ends(predictions)
    y = held["target"].to_numpy()

    def columns(points: pd.DataFrame) -> np.ndarray:
        half = Z * np.sqrt(points["epistemic_variance"] + points["noise_variance"])
        return np.stack([points["mean"] - half, points["mean"] + half, points["mean"]], 1)

    fitted = [Column(k) for k in range(3)]  # the lower end, the upper end, the mean
    split = mapie.SplitConformalRegressor(fitted[2], confidence_level=LEVEL, prefit=True)
    split.conformalize(columns(held), y)
    _, expected = split.predict_interval(columns(own))
    np.testing.assert_allclose(found["constant"], expected[:, :, 0], rtol=1e-10)
    cqr = mapie.ConformalizedQuantileRegressor(fitted, confidence_level=LEVEL, prefit=True)
    cqr.conformalize(columns(held), y)
    _, expected = cqr.predict_interval(columns(own), symmetric_correction=True)
    np.testing.assert_allclose(found[CQR], expected[:, :, 0], rtol=1e-10)


def test_cv_plus_is_that_of_mapie(predictions: SplitPredictions) -> None:
    mapie = pytest.importorskip("mapie.regression")
    from sklearn.model_selection import PredefinedSplit

    held, folds = predictions.held_out, predictions.held_out["fold"].to_numpy()
    x = np.hstack([np.repeat(held[["mean"]].to_numpy(), FOLDS, 1), folds[:, None]])
    cross = mapie.CrossConformalRegressor(
        Column(), confidence_level=LEVEL, method="plus", cv=PredefinedSplit(folds)
    )
    cross.fit_conformalize(x, held["target"].to_numpy())
    tested = np.hstack([predictions.fold_means, np.zeros((POINTS, 1))])
    _, expected = cross.predict_interval(tested)
    np.testing.assert_allclose(ends(predictions)[CV_PLUS], expected[:, :, 0], rtol=1e-10)


def test_groups_share_their_weight() -> None:
    assert conformal_radius(np.arange(1, 10), 0.9) == 9 and conformal_radius(np.ones(8)) == math.inf
    scores, groups = np.arange(6.0), np.array([0, 0, 0, 0, 1, 2])
    assert conformal_radius(scores, 0.5, groups) == 4
    low, high = cv_plus(np.ones(8), np.zeros(8, int), np.zeros((2, 1)))
    assert (low == -math.inf).all() and (high == math.inf).all()


def test_exact_split_conformal_intervals_are_in_their_band() -> None:
    """98.7 % of splits with 31 test points: more than 95 %, since their number is discrete."""
    random = np.random.default_rng(0)
    calibration, tested = random.random((600, 60)), random.random((600, 31))
    radius = np.array([conformal_radius(scores) for scores in calibration])
    covered = (tested <= radius[:, None]).sum(1)
    sizes = np.full(600, 31), np.full(600, 60)
    assert in_coverage_band(covered, *sizes).mean() == pytest.approx(0.987, abs=0.012)
    narrow = (tested <= 0.8 * radius[:, None]).sum(1)
    assert in_coverage_band(narrow, *sizes).mean() < 0.6
