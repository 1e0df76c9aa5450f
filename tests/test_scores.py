"""Metrics against definitions and scipy; scaling against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from bnnbench import metrics
from bnnbench.preprocessing import standardise
from bnnbench.types import Prediction

RNG = np.random.default_rng(0)
LOC = RNG.normal(size=(6, 1, 4))
NOISE = 0.3
Y = RNG.normal(size=4)


def padded() -> tuple[Prediction, torch.Tensor, torch.Tensor]:
    """The four points plus one row of padding that must not count."""
    loc = torch.from_numpy(np.concatenate([LOC, np.full((6, 1, 1), 1e3)], axis=2))
    prediction = Prediction(loc, torch.zeros(1, 1).double(), torch.full((1, 1), NOISE).double())
    real = torch.tensor([[True] * 4 + [False]])
    return prediction, torch.from_numpy(np.append(Y, 0.0))[None], real


def densities() -> np.ndarray:
    return stats.norm.logpdf(Y, LOC[:, 0], NOISE**0.5)


def test_rmse() -> None:
    expected = np.sqrt(np.mean((Y - LOC[:, 0].mean(0)) ** 2))
    assert metrics.rmse(*padded()).item() == pytest.approx(expected)


def test_log_likelihood_averages_the_density_of_each_point() -> None:
    expected = np.log(np.exp(densities()).mean(0)).mean()
    assert metrics.log_likelihood(*padded()).item() == pytest.approx(expected)


def test_joint_log_likelihood_averages_the_density_of_all_points() -> None:
    expected = np.log(np.exp(densities().sum(1)).mean()) / 4
    assert metrics.log_likelihood_joint(*padded()).item() == pytest.approx(expected)


def test_gaussian_log_likelihood_matches_moments() -> None:
    variance = LOC[:, 0].var(0) + NOISE
    expected = stats.norm.logpdf(Y, LOC[:, 0].mean(0), variance**0.5).mean()
    assert metrics.log_likelihood_gaussian(*padded()).item() == pytest.approx(expected)


def test_crps_is_the_integral_of_the_squared_cdf_error() -> None:
    def error(x: float, m: int) -> float:
        cdf = stats.norm.cdf(x, LOC[:, 0, m], NOISE**0.5).mean()
        return (cdf - (x >= Y[m])) ** 2

    expected = np.mean(
        [
            integrate.quad(error, -12, Y[m], args=(m,))[0]
            + integrate.quad(error, Y[m], 12, args=(m,))[0]
            for m in range(4)
        ]
    )
    assert metrics.crps(*padded()).item() == pytest.approx(expected, rel=1e-6)


def test_scores_change_units_as_they_should() -> None:
    prediction, targets, real = padded()
    shift, scale = torch.tensor([[5.0]]).double(), torch.tensor([[10.0]]).double()
    moved = prediction.rescaled(shift, scale)
    there = shift + scale * targets
    assert metrics.rmse(moved, there, real) == pytest.approx(
        10 * metrics.rmse(prediction, targets, real)
    )
    assert metrics.log_likelihood(moved, there, real).item() == pytest.approx(
        metrics.log_likelihood(prediction, targets, real).item() - np.log(10)
    )


def test_each_part_is_scaled_by_its_own_statistics() -> None:
    inputs = [RNG.normal(3, 2, size=(n, 2)) for n in (5, 8)]
    targets = [RNG.normal(-1, 4, size=n) for n in (5, 8)]
    data, scaler = standardise(inputs, targets, (0, 0), torch.device("cpu"), torch.float64)
    assert data.inputs.shape == (2, 8, 2) and data.counts == (5, 8)
    for r, n in enumerate((5, 8)):
        expected = (inputs[r] - inputs[r].mean(0)) / inputs[r].std(0)
        np.testing.assert_allclose(data.inputs[r, :n], expected)
    assert not data.inputs[0, 5:].any() and not data.targets[0, 5:].any()
    shift, scale = scaler.target_units()
    np.testing.assert_allclose(shift[0] + scale[0] * data.targets[0, :5], targets[0])


def test_constant_columns_keep_scale_one() -> None:
    constant = np.full((50, 1), 0.1) * 3  # sums of this leave rounding noise in the deviation
    data, scaler = standardise(
        [constant], [np.arange(50.0)], (0,), torch.device("cpu"), torch.float64
    )
    assert scaler.input_scale[0, 0] == 1.0
    assert data.inputs.abs().max() < 1e-12
