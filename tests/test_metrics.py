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
LOC, NOISE, TARGETS = RNG.normal(size=(6, 1, 4)), 0.3, RNG.normal(size=4)

MIXED_LOC, MIXED_NOISE = RNG.normal(size=(5, 1, 4)), RNG.uniform(0.05, 2, size=(5, 1, 4))
"""Components with a noise of their own for every sample and point."""


def padded() -> tuple[Prediction, Tensor, Tensor]:
    """Return the four points plus one row of padding, which must not count."""
    loc = torch.from_numpy(np.concatenate([LOC, np.full((6, 1, 1), 1e3)], axis=2))
    prediction = Prediction(loc, torch.zeros(1, 1).double(), torch.full((1, 1), NOISE).double())
    real = torch.tensor([[True] * 4 + [False]])
    return prediction, torch.from_numpy(np.append(TARGETS, 0.0))[None], real


def mixture() -> tuple[Prediction, Tensor, Tensor]:
    loc, noise = torch.from_numpy(MIXED_LOC), torch.from_numpy(MIXED_NOISE)
    prediction = Prediction(loc, torch.zeros(1, 1, 1).double(), noise)
    return prediction, torch.from_numpy(TARGETS)[None], torch.ones(1, 4, dtype=torch.bool)


def defined(loc: np.ndarray, scale: np.ndarray) -> dict[str, float]:
    """Return the scores of mixtures with components `[S, 4]` by their definitions."""
    density = stats.norm.pdf(TARGETS, loc, scale)
    mean, deviation = loc.mean(0), np.sqrt(loc.var(0) + (scale**2).mean(0))

    def squared_error(x: float, m: int) -> float:
        return (stats.norm.cdf(x, loc[:, m], scale[:, m]).mean() - (x >= TARGETS[m])) ** 2

    crps = [
        integrate.quad(squared_error, -20, y, args=(m,))[0]
        + integrate.quad(squared_error, y, 20, args=(m,))[0]
        for m, y in enumerate(TARGETS)
    ]
    return {
        "rmse": np.sqrt(np.mean((TARGETS - mean) ** 2)),
        "log_likelihood": np.log(density.mean(0)).mean(),
        "log_likelihood_joint": np.log(density.prod(1).mean()) / 4,
        "log_likelihood_gaussian": stats.norm.logpdf(TARGETS, mean, deviation).mean(),
        "crps": np.mean(crps),
    }


@pytest.mark.parametrize(
    ("given", "loc", "noise"),
    [
        (padded(), LOC[:, 0], np.full((6, 4), NOISE)),
        (mixture(), MIXED_LOC[:, 0], MIXED_NOISE[:, 0]),
    ],
    ids=["shared noise", "noise of each component"],
)
def test_scores_agree_with_their_definitions(
    given: tuple[Prediction, Tensor, Tensor], loc: np.ndarray, noise: np.ndarray
) -> None:
    found = {name: metric(*given).item() for name, metric in metrics.SCORE_FUNCTIONS.items()}
    assert found == pytest.approx(defined(loc, noise**0.5), rel=1e-6)


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


def test_many_densities_are_computed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of four rows is padding in the first stack."""
    for prediction, targets, real in (padded(), mixture()):
        scores = (metrics.log_likelihood, metrics.log_likelihood_joint)
        whole = [score(prediction, targets, real) for score in scores]
        monkeypatch.setattr(metrics, "MAX_DENSITIES", 13)
        for score, expected in zip(scores, whole, strict=True):
            torch.testing.assert_close(score(prediction, targets, real), expected)
        monkeypatch.undo()


def test_crps_of_many_components_uses_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    prediction, targets, real = mixture()
    monkeypatch.setattr(metrics, "MAX_CRPS_COMPONENTS", 3)
    some = Prediction(prediction.loc[::2], prediction.epistemic, prediction.noise[::2])
    assert metrics.crps(prediction, targets, real) == metrics.crps(some, targets, real)
