"""Metrics, compared with their definitions and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import Tensor

from bnnbench import metrics
from bnnbench.types import Prediction

RNG = np.random.default_rng(0)
LOC = RNG.normal(size=(6, 1, 4))
NOISE = 0.3
Y = RNG.normal(size=4)


def padded() -> tuple[Prediction, torch.Tensor, torch.Tensor]:
    """Return the four points plus one row of padding, which must not count."""
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


def test_scores_in_other_units() -> None:
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


# A noise of its own for every sample and point.
MIXED = np.random.default_rng(4)
MIXED_LOC, MIXED_NOISE = MIXED.normal(size=(5, 1, 4)), MIXED.uniform(0.05, 2, size=(5, 1, 4))
MIXED_TARGETS = MIXED.normal(size=4)


def mixture() -> tuple[Prediction, Tensor, Tensor]:
    loc, noise = torch.from_numpy(MIXED_LOC), torch.from_numpy(MIXED_NOISE)
    prediction = Prediction(loc, torch.zeros(1, 1, 1).double(), noise)
    return prediction, torch.from_numpy(MIXED_TARGETS)[None], torch.ones(1, 4, dtype=torch.bool)


def test_scores_use_the_noise_of_each_component() -> None:
    loc, scale = MIXED_LOC[:, 0], MIXED_NOISE[:, 0] ** 0.5
    density = stats.norm.pdf(MIXED_TARGETS, loc, scale)
    total = loc.var(0) + (scale**2).mean(0)

    def squared_error(x: float, m: int) -> float:
        return (stats.norm.cdf(x, loc[:, m], scale[:, m]).mean() - (x >= MIXED_TARGETS[m])) ** 2

    crps = [
        integrate.quad(squared_error, -20, MIXED_TARGETS[m], args=(m,))[0]
        + integrate.quad(squared_error, MIXED_TARGETS[m], 20, args=(m,))[0]
        for m in range(4)
    ]
    expected = {
        "rmse": np.sqrt(np.mean((MIXED_TARGETS - loc.mean(0)) ** 2)),
        "log_likelihood": np.log(density.mean(0)).mean(),
        "log_likelihood_joint": np.log(density.prod(1).mean()) / 4,
        "log_likelihood_gaussian": stats.norm.logpdf(MIXED_TARGETS, loc.mean(0), total**0.5).mean(),
        "crps": np.mean(crps),
    }
    ours = {name: metric(*mixture()).item() for name, metric in metrics.METRICS.items()}
    assert ours == pytest.approx(expected, rel=1e-6)


def test_many_densities_are_computed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of four rows is padding in the first stack."""
    for prediction, targets, real in (padded(), mixture()):
        scores = (metrics.log_likelihood, metrics.log_likelihood_joint)
        whole = [score(prediction, targets, real) for score in scores]
        monkeypatch.setattr(metrics, "MAX_DENSITIES", 13)
        for score, expected in zip(scores, whole, strict=True):
            torch.testing.assert_close(score(prediction, targets, real), expected)
        monkeypatch.undo()


def test_crps_of_many_components_uses_some_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prediction, targets, real = mixture()
    monkeypatch.setattr(metrics, "MAX_CRPS_COMPONENTS", 3)
    some = Prediction(prediction.loc[::2], prediction.epistemic, prediction.noise[::2])
    assert metrics.crps(prediction, targets, real) == metrics.crps(some, targets, real)
