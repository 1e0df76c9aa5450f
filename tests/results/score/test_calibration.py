"""Coverage, calibration error and recalibration, on predictions of known calibration."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from support.runs import make_run

from bnnbench.results.read.run_files import CALIBRATION
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.score.calibration import (
    CALIBRATION_METRICS,
    LEVELS,
    RECALIBRATIONS,
    Recalibration,
    calibration_floor,
    calibration_table,
    coverage,
    gather_calibration,
    mean_widths,
    pit_values,
)
from bnnbench.results.score.run_notes import coverage_note


def points(claimed: float, seed: int = 0, count: int = 4000, bias: float = 0.0) -> pd.DataFrame:
    """Return standard Gaussian targets, predicted with the standard deviation `claimed`."""
    target = np.random.default_rng(seed).normal(size=count) + bias
    return pd.DataFrame(
        {"split": 0, "target": target, "mean": 0.0, "epistemic_variance": 0.4 * claimed**2}
    ).assign(noise_variance=0.6 * claimed**2)


def test_calibration_of_a_perfect_and_of_an_overconfident_model() -> None:
    both = pd.concat([points(1.0), points(0.1).assign(split=1)])
    table = calibration_table(both).set_index("split")
    assert list(table.columns) == ["recalibration", *CALIBRATION_METRICS]
    assert set(table["recalibration"]) == {"none"}
    assert table.loc[0, "calibration_error"] < 0.02
    assert table.loc[0, "coverage_90"] == pytest.approx(0.9, abs=0.02)
    assert table.loc[0, "width_95"] == pytest.approx(2 * 1.959964, rel=1e-6)
    assert table.loc[1, "calibration_error"] > 0.4
    assert table.loc[1, "width_95"] == pytest.approx(0.1 * table.loc[0, "width_95"])


@pytest.mark.parametrize("rows", [1, 2, 20, 57])
def test_the_floor_equals_the_sum_over_all_outcomes(rows: int) -> None:
    inside = np.arange(rows + 1)[:, None]
    errors = np.abs(inside / rows - LEVELS) * binom.pmf(inside, rows, LEVELS)
    assert calibration_floor(rows) == pytest.approx(errors.sum(0).mean(), rel=1e-10)
    assert calibration_floor(np.array([rows, rows])).shape == (2,)


def test_the_floor_equals_the_mean_error_of_perfect_predictions() -> None:
    both = pd.concat([points(1.0, seed, 51).assign(split=seed) for seed in range(150)])
    errors = calibration_table(both)["calibration_error"]
    assert abs(errors.mean() - calibration_floor(51)) < 4 * errors.sem()


def test_coverage_of_known_errors() -> None:
    frame = pd.DataFrame(
        {"target": [0.5, -1.5, 2.5, 0.0], "mean": 0, "epistemic_variance": 0.75}
    ).assign(noise_variance=0.25, split=0)
    # With unit variance the 68.3 % interval ends at 1, the 95 % interval at 1.96.
    assert coverage(frame, np.array([0.6826, 0.95])).tolist() == [0.5, 0.75]


@pytest.mark.parametrize("claimed", [0.3, 3.0])
@pytest.mark.parametrize("name", RECALIBRATIONS)
def test_recalibration_corrects_coverage_and_width_of_new_points(name: str, claimed: float) -> None:
    learned = RECALIBRATIONS[name](pit_values(points(claimed, seed=1)))
    table = calibration_table(points(claimed), points(claimed, seed=1)).set_index("recalibration")
    assert table.loc["none", "calibration_error"] > 0.2
    assert table.loc[name, "calibration_error"] < (0.02 if name == "isotonic" else 0.08)
    exact = 2 * 0.6744898
    width = float(mean_widths(points(claimed), np.array([0.5]), learned)[0])
    assert width == pytest.approx(exact, rel=0.05 if name == "isotonic" else 0.3)


@pytest.mark.parametrize("name", RECALIBRATIONS)
def test_recalibration_maps_increase_and_have_an_inverse(name: str) -> None:
    learned = RECALIBRATIONS[name](pit_values(points(0.5, bias=0.3)))
    p = np.linspace(0.01, 0.99, 99)
    assert (np.diff(learned(p)) > 0).all()
    np.testing.assert_allclose(learned.inverse(learned(p)), p, atol=1e-9)


def test_platt_finds_the_logistic_map_of_the_data() -> None:
    # Quantiles of R(p) = sigmoid(2 logit(p) - 0.5), so the fit can be exact.
    levels = (np.arange(2000) + 0.5) / 2000
    values = 1 / (1 + np.exp(-(np.log(levels / (1 - levels)) + 0.5) / 2))
    np.testing.assert_allclose(RECALIBRATIONS["platt"](values)(values), levels, atol=1e-4)


@pytest.mark.parametrize("name", RECALIBRATIONS)
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_extreme_pit_values_give_finite_results(name: str, value: float) -> None:
    learned: Recalibration = RECALIBRATIONS[name](np.full(20, value))
    assert np.isfinite(learned(LEVELS)).all()
    inverse = learned.inverse(LEVELS)
    assert ((inverse > 0) & (inverse < 1)).all()


def test_a_split_without_recalibration_has_one_row() -> None:
    both = pd.concat([points(1.0), points(1.0).assign(split=1)])
    table = calibration_table(both, points(1.0, seed=1))
    assert (table["recalibration"] == "none").sum() == 2
    assert table.loc[table["recalibration"] == "isotonic", "split"].tolist() == [0]


def test_calibration_is_gathered_from_the_tables_of_run_pages(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert gather_calibration(read_runs(tmp_path)).empty
    folder = make_run(tmp_path, method="vadam")
    both = pd.concat([points(1.0), points(0.1).assign(split=1)])
    saved = calibration_table(both, points(1.0, seed=1))
    saved.to_csv(folder.table(CALIBRATION), index=False)
    table = gather_calibration(read_runs(tmp_path)).reset_index().set_index("recalibration")
    assert list(table.index) == ["none", *RECALIBRATIONS]
    errors = saved.loc[saved["recalibration"] == "none", "calibration_error"]
    assert table.loc["none", "calibration_error_mean"] == pytest.approx(errors.mean())
    assert table.loc["none", "calibration_error_stderr"] == pytest.approx(errors.sem())
    assert math.isnan(table.loc["platt", "width_90_stderr"])


def test_calibration_uses_each_points_own_noise() -> None:
    """Intervals from the true, varying noise are calibrated; those from its mean are not."""
    rng = np.random.default_rng(5)
    variance = rng.choice([0.01, 4.0], size=20_000)
    points = pd.DataFrame({
        "target": rng.normal(0, variance**0.5),
        "mean": 0.0,
        "epistemic_variance": 0.0,
        "noise_variance": variance,
    })  # fmt: skip
    levels = np.array([0.5, 0.9])
    np.testing.assert_allclose(coverage(points, levels), levels, atol=0.015)
    same = points.assign(noise_variance=variance.mean())
    assert np.abs(coverage(same, levels) - levels).max() > 0.1


@pytest.mark.parametrize(
    ("covered", "settings", "words"),
    [
        (0.9, {}, ""),
        (math.nan, {}, ""),
        (0.5, {}, "narrow"),
        (1.0, {"dataset.time": "day"}, "wide"),
        (0.28, {"dataset.time": "day"}, "a trend or a change"),
        (0.5, {"dataset.group": "patient"}, "New groups"),
    ],
)
def test_coverage_far_from_its_level_is_explained(
    covered: float, settings: dict[str, str], words: str
) -> None:
    note = coverage_note(covered, settings)
    assert bool(note) == bool(words) and words in note
