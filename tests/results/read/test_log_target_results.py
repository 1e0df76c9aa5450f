"""Intervals and scores of fits of the logarithm are those of the logarithm, transformed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import lognorm
from support.runs import add_arrays, make_run

from bnnbench.experiment.store.split_files import PREDICTIONS
from bnnbench.report.figures.split_run import reliability_figure
from bnnbench.results.read.run_files import read_columns
from bnnbench.results.score.calibration import (
    RECALIBRATIONS,
    calibration_table,
    coverage,
    ends_from_mean,
    mean_widths,
    pit_values,
    standard_scores,
)
from bnnbench.results.score.conformal import CQR, LEVEL, RAW, conformal_radius, interval_ends
from bnnbench.results.score.predictions import Mixture, SplitPredictions
from bnnbench.results.score.predictive_distances import exact_quantiles
from bnnbench.results.score.proper_scores import point_scores, tail_crps
from bnnbench.types import UserError


def both(seed: int, count: int = 300) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return points in units of the logarithm, and the same in units of the target."""
    random = np.random.default_rng(seed)
    loc, variance = random.normal(size=count), random.uniform(0.05, 1, count)
    logs = loc + 1.2 * np.sqrt(variance) * random.normal(size=count)
    parts = {"epistemic_variance": 0.3 * variance, "noise_variance": 0.7 * variance}
    fitted = pd.DataFrame({"split": 0, "target": logs, "mean": loc, **parts})
    mean = np.exp(loc + variance / 2)
    total = mean**2 * np.expm1(variance)
    parts = {"epistemic_variance": 0.3 * total, "noise_variance": 0.7 * total}
    points = pd.DataFrame({"split": 0, "target": np.exp(logs), "mean": mean, **parts})
    return fitted, points.assign(log_mean=loc, log_variance=variance)


FITTED, POINTS = both(0)
HELD_FITTED, HELD = both(1)


@pytest.mark.parametrize("score", [-2.5, -1.0, 0.0, 0.3, 1.64])
def test_ends_are_exponentials(score: float) -> None:
    ends = POINTS["mean"] + ends_from_mean(POINTS, score)
    expected = np.exp(FITTED["mean"] + ends_from_mean(FITTED, score))
    np.testing.assert_allclose(ends, expected, rtol=1e-12)
    np.testing.assert_allclose(standard_scores(POINTS, ends), score, atol=1e-12)


@pytest.mark.parametrize("name", ["none", *RECALIBRATIONS])
def test_calibration_is_that_of_the_logarithm(name: str) -> None:
    np.testing.assert_allclose(pit_values(POINTS), pit_values(FITTED), atol=1e-12)
    tables = (calibration_table(*pair) for pair in ((POINTS, HELD), (FITTED, HELD_FITTED)))
    own, expected = (t.set_index("recalibration").loc[name] for t in tables)
    same = ["calibration_error", "coverage_50", "coverage_90", "coverage_95"]
    assert own[same].tolist() == pytest.approx(expected[same].tolist())


def test_widths_are_those_of_log_normals() -> None:
    deviation, scale = np.sqrt(POINTS["log_variance"]), np.exp(POINTS["log_mean"])
    low, high = (lognorm.ppf(level, deviation, scale=scale) for level in (0.05, 0.95))
    assert mean_widths(POINTS, np.array([0.9])) == pytest.approx((high - low).mean())
    assert coverage(POINTS, np.array([0.9]))[0] == (
        (low <= POINTS["target"]) & (POINTS["target"] <= high)
    ).mean()  # fmt: skip


def test_conformal_ends() -> None:
    """`raw` transforms; `cqr` adds an amount in units of the target, and covers as promised."""
    columns = ("log_mean", "log_variance")
    loc, variance = (POINTS[[name]].to_numpy() for name in columns)
    mixture = Mixture(loc, variance, 0 * variance, log=True)
    predictions = SplitPredictions(0, POINTS, mixture, HELD)
    ends = {name: (low, high) for name, low, high in interval_ends(predictions)}
    mean = POINTS["mean"].to_numpy()
    expected = lognorm.ppf((1 + LEVEL) / 2, np.sqrt(variance[:, 0]), scale=np.exp(loc[:, 0]))
    np.testing.assert_allclose(mean + ends[RAW][1], expected, rtol=1e-12)
    error = (HELD["target"] - HELD["mean"]).to_numpy()
    low, high = (ends_from_mean(HELD, z) for z in (-1.6448536269514722, 1.6448536269514722))
    margin = conformal_radius(np.maximum(low - error, error - high))
    np.testing.assert_allclose(ends[CQR][1] - ends[RAW][1], margin)
    inside = (ends[CQR][0] <= POINTS["target"] - mean) & (POINTS["target"] - mean <= ends[CQR][1])
    assert 0.84 < inside.mean() < 0.96


COMPONENTS = [
    (np.array([[-1.0, 0.5, 2.0]]), np.array([[0.3]])),
    (np.array([[0.2]]), np.array([[0.9]])),
    (np.array([[0.0, 0.1]]), np.array([[0.05, 0.6]])),
]


@pytest.mark.parametrize(("loc", "variance"), COMPONENTS)
def test_proper_scores_of_a_mixture(loc: np.ndarray, variance: np.ndarray) -> None:
    mixture, target = Mixture(loc, variance, 0 * variance, log=True), np.array([1.4])
    fitted, low, high = replace(mixture, log=False), 0.6, 3.0
    levels = np.array([[0.01, 0.6]])
    found = exact_quantiles(mixture, levels)
    np.testing.assert_allclose(found, np.exp(exact_quantiles(fitted, levels)))

    def squared_error(y: float) -> float:
        cdf = lognorm.cdf(y, np.sqrt(variance), scale=np.exp(loc)).mean()
        return float((cdf - (y >= target[0])) ** 2)

    tails = [(0, low), (high, 50), (50, 1e4)]
    found = tail_crps(mixture, target, low, high)
    assert found == pytest.approx(sum(quad(squared_error, *ends)[0] for ends in tails), rel=1e-6)
    own = point_scores(mixture, target, low, high)
    assert own["pit"] == pytest.approx(point_scores(fitted, np.log(target), low, high)["pit"])
    assert own["tail_crps"] == found


def test_the_figure_names_the_shape_of_the_distribution() -> None:
    assert "log-normal" in reliability_figure(POINTS).axes[0].get_xlabel()
    assert "Gaussian" in reliability_figure(FITTED).axes[0].get_xlabel()


@pytest.mark.parametrize(
    "columns",
    [
        {"log_mean": np.zeros(1)},
        {"log_variance": np.ones(1)},
        {"log_mean": np.array(["a"]), "log_variance": np.ones(1)},
    ],
)
def test_damaged_columns_of_the_logarithm(tmp_path: Path, columns: dict[str, np.ndarray]) -> None:
    folder = make_run(tmp_path)
    add_arrays(folder)
    path = folder.arrays(PREDICTIONS)
    with np.load(path) as arrays:
        saved = dict(arrays)
    rows = len(saved["target"])
    np.savez(path, **saved, **{name: np.repeat(value, rows) for name, value in columns.items()})
    with pytest.raises(UserError):
        read_columns(folder, PREDICTIONS)
