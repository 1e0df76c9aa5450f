"""Mixtures of log-normals: moments and scores, compared with their definitions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import Tensor

from bnnbench import log_normal, metrics
from bnnbench.experiment.splits.fitting import moments
from bnnbench.log_normal import LogPrediction
from bnnbench.types import Prediction

RNG = np.random.default_rng(0)
SAMPLED, ALONE, WIDE, FAR = (RNG.normal(size=(s, 4)) for s in (6, 1, 3, 5))

CASES = {
    "sampled networks": (SAMPLED, np.zeros((1, 1)), np.full((1, 1), 0.3)),
    "one network": (ALONE, np.zeros((1, 1)), np.full((1, 4), 0.8)),
    "propagated moments": (ALONE, RNG.uniform(0.1, 1, (1, 4)), np.full((1, 1), 0.2)),
    "noise of each component": (SAMPLED, np.zeros((6, 4)), RNG.uniform(0.05, 1, (6, 4))),
    "both variances": (FAR, RNG.uniform(0.01, 0.5, (5, 4)), RNG.uniform(0.01, 0.5, (5, 4))),
    "nearly exact": (ALONE, np.full((1, 1), 1e-6), np.full((1, 1), 1e-6)),
    "large numbers": (9 + FAR, np.full((1, 1), 0.1), np.full((1, 1), 0.4)),
    "small numbers": (WIDE - 7, np.full((1, 1), 0.0), np.full((1, 1), 1.5)),
}
"""`loc`, `epistemic` and `noise` of four points."""

cases = pytest.mark.parametrize("case", CASES)


def given(case: str) -> tuple[LogPrediction, Tensor, Tensor]:
    """Return the prediction, targets inside its range, and padding, which must not count."""
    loc, epistemic, noise = CASES[case]
    padded = np.concatenate([loc, np.full((len(loc), 1), 50.0)], axis=1)[:, None]
    parts = (np.broadcast_to(part, loc.shape) for part in (epistemic, noise))
    ones = (np.concatenate([p, np.ones((len(loc), 1))], axis=1)[:, None] for p in parts)
    prediction = LogPrediction(torch.from_numpy(padded), *map(torch.from_numpy, ones))
    real = torch.tensor([[True] * 4 + [False]])
    return prediction, torch.from_numpy(np.append(targets(case), 0.0))[None], real


def targets(case: str) -> np.ndarray:
    deviation = np.sqrt(sum(CASES[case][1:], np.zeros((1, 4)))).mean(0)
    shifts = np.array([-1.5, 0.2, 0.7, 2.5])
    return np.asarray(np.exp(CASES[case][0][0] + shifts * deviation))


def cdf(case: str, y: np.ndarray) -> np.ndarray:
    """Return the probability of a smaller target in each component, `[S, 4]`."""
    loc, epistemic, noise = CASES[case]
    return np.asarray(stats.norm.cdf((np.log(y) - loc) / np.sqrt(epistemic + noise)))


def derivative(case: str, y: np.ndarray) -> np.ndarray:
    """Return the numerical derivative of the CDF of each component by the target."""
    _, epistemic, noise = CASES[case]
    step = 1e-3 * y * float(np.sqrt(epistemic + noise).min())
    ahead, behind = (cdf(case, y + k * step) - cdf(case, y - k * step) for k in (1, 2))
    return np.asarray((8 * ahead - behind) / (12 * step))


@cases
def test_log_likelihoods_are_those_of_the_numerical_derivative_of_the_cdf(case: str) -> None:
    density = derivative(case, targets(case))
    assert metrics.log_likelihood(*given(case)).item() == pytest.approx(
        np.log(density.mean(0)).mean(), abs=1e-7
    )
    assert metrics.log_likelihood_joint(*given(case)).item() == pytest.approx(
        np.log(density.prod(1).mean()) / 4, abs=1e-7
    )


@cases
def test_the_gaussian_log_likelihood_is_that_of_a_log_normal(case: str) -> None:
    loc, epistemic, noise = CASES[case]
    deviation = np.sqrt(loc.var(0) + (epistemic + noise + 0 * loc).mean(0))
    expected = stats.lognorm.logpdf(targets(case), deviation, scale=np.exp(loc.mean(0))).mean()
    assert metrics.log_likelihood_gaussian(*given(case)).item() == pytest.approx(expected)


@cases
def test_crps_is_the_integral_of_the_squared_error_of_the_cdf(case: str) -> None:
    loc, epistemic, noise = CASES[case]
    margin = 9 * np.sqrt(epistemic + noise).max()
    low, high = loc.min() - margin, loc.max() + margin
    expected = []
    for m, y in enumerate(targets(case)):

        def squared_error(z: float, m: int = m, y: float = y) -> float:
            found = cdf(case, np.full(4, np.exp(z)))[:, m].mean()
            return float((found - (z >= np.log(y))) ** 2 * np.exp(z))

        options = {"points": [*loc[:, m], np.log(y)], "limit": 400, "epsabs": 0}
        expected.append(integrate.quad(squared_error, low, high, **options)[0])
    assert metrics.crps(*given(case)).item() == pytest.approx(np.mean(expected), rel=1e-6)


@cases
def test_moments_are_those_of_gauss_hermite_quadrature(case: str) -> None:
    """Of `exp(f + n)`: the mean over the noise `n` given the function `f`, then over `f`."""
    loc, epistemic, noise = (np.broadcast_to(part, CASES[case][0].shape) for part in CASES[case])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    function = loc[..., None] + np.sqrt(epistemic)[..., None] * nodes
    given_f = np.exp(function[..., None] + np.sqrt(noise)[..., None, None] * nodes)
    mean_given_f = given_f @ weights
    variance_given_f = (given_f - mean_given_f[..., None]) ** 2 @ weights
    mean = (mean_given_f @ weights).mean(0)
    found = moments(given(case)[0])
    assert found["mean"][:4] == pytest.approx(mean)
    spread = ((mean_given_f - mean[:, None]) ** 2 @ weights).mean(0)
    assert found["epistemic_variance"][:4] == pytest.approx(spread, rel=1e-5, abs=1e-20)
    assert found["noise_variance"][:4] == pytest.approx((variance_given_f @ weights).mean(0))
    assert found["log_mean"][:4] == pytest.approx(loc.mean(0))
    total = loc.var(0) + (epistemic + noise).mean(0)
    assert found["log_variance"][:4] == pytest.approx(total)
    error = targets(case) - mean
    assert metrics.rmse(*given(case)).item() == pytest.approx(np.sqrt((error**2).mean()))


def test_other_predictions_have_no_moments_of_a_logarithm() -> None:
    one = torch.ones(1, 1, 1).double()
    assert list(moments(Prediction(one, one, one))) == [
        "mean", "epistemic_variance", "noise_variance",
    ]  # fmt: skip


@pytest.mark.parametrize("loc", [800.0, 1e6, np.inf])
def test_scores_of_overflowing_moments_are_not_finite(loc: float) -> None:
    part = torch.full((3, 1, 2), loc).double()
    prediction = LogPrediction(part, torch.zeros_like(part), torch.ones_like(part))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = metrics.rmse(prediction, torch.ones(1, 2).double(), torch.ones(1, 2).bool())
        log_normal.crps(part[:, 0].numpy(), np.ones((3, 2)), np.zeros(2))
    assert not torch.isfinite(found).any()


@cases
def test_scores_in_other_units(case: str) -> None:
    """A factor of the target shifts the log-likelihood, and is a factor of the CRPS."""
    prediction, y, real = given(case)
    shift, one = torch.tensor([[np.log(1000)]], dtype=torch.float64), torch.ones(1, 1)
    moved = prediction.rescaled(shift, one)
    for name, metric in metrics.SCORE_FUNCTIONS.items():
        before, after = metric(prediction, y, real).item(), metric(moved, 1000 * y, real).item()
        expected = before - np.log(1000) if name.startswith("log") else 1000 * before
        assert after == pytest.approx(expected, rel=1e-6), name


def test_crps_of_many_components_uses_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    prediction, y, real = given("both variances")
    monkeypatch.setattr(metrics, "MAX_LOG_CRPS_COMPONENTS", 3)
    parts = (prediction.loc, prediction.epistemic, prediction.noise)
    some = LogPrediction(*(part[::2] for part in parts))
    assert metrics.crps(prediction, y, real) == metrics.crps(some, y, real)
