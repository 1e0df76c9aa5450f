"""Distances of predictive distributions: closed forms, integration, samples and symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, spearmanr, wasserstein_distance

from bnnbench.results.score.predictions import Mixture
from bnnbench.results.score.predictive_distances import (
    WEIGHTS,
    energy_distance,
    geometric_mean_ratio,
    mass_inside,
    quantiles,
    rank_correlation,
    sample,
    sampled_wasserstein,
    wasserstein,
    wasserstein_of_sets,
)


def gaussian(loc: float, deviation: float) -> Mixture:
    """Return one point with one component; half of its variance is epistemic."""
    half = np.array([[deviation**2 / 2]])
    return Mixture(np.array([[loc]]), half, half)


def mixture(
    points: int, components: int, seed: int, spread: float = 0.3, own: bool = False
) -> Mixture:
    """Return overlapping components with individual (`own`) or equal standard deviations."""
    rng = np.random.default_rng(seed)
    loc = rng.normal(size=(points, 1)) + spread * rng.normal(size=(points, components))
    noise = 0.09 * np.exp(0.5 * rng.normal(size=(points, components if own else 1)))
    return Mixture(loc, np.zeros((points, 1)), noise)


def integrated(p: Mixture, q: Mixture, order: int) -> np.ndarray:
    """Return the distance by integrating CDFs on a dense grid, `[M]`."""
    distances = []
    for k in range(len(p.loc)):
        ends = [(m.loc[k] + s * 8 * m.deviation[k]) for m in (p, q) for s in (-1, 1)]
        x = np.linspace(min(map(np.min, ends)), max(map(np.max, ends)), 10_001)
        f, g = (norm.cdf((x[:, None] - m.loc[k]) / m.deviation[k]).mean(1) for m in (p, q))
        if order == 1:
            distances.append(np.trapezoid(np.abs(f - g), x))
        else:
            u = (np.arange(50_000) + 0.5) / 50_000
            distances.append(np.sqrt(np.mean((np.interp(u, f, x) - np.interp(u, g, x)) ** 2)))
    return np.array(distances)


@pytest.mark.parametrize(("shift", "a", "b"), [(0.0, 1.0, 2.0), (0.7, 1.0, 1.0), (-0.3, 0.5, 0.9)])
def test_two_gaussians_in_closed_form(shift: float, a: float, b: float) -> None:
    """W2^2 = shift^2 + (a - b)^2; W1 is the mean of a folded normal, `|shift + (b - a) Z|`."""
    p, q = quantiles(gaussian(1.0, a)), quantiles(gaussian(1.0 + shift, b))
    scale = max(abs(b - a), 1e-12)
    folded = scale * np.sqrt(2 / np.pi) * np.exp(-(shift**2) / (2 * scale**2)) + shift * (
        1 - 2 * norm.cdf(-shift / scale)
    )
    assert wasserstein(p, q, 1) == pytest.approx(folded, rel=1e-4)
    assert wasserstein(p, q, 2) == pytest.approx(np.hypot(shift, a - b), rel=1e-4)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_mixtures_against_dense_integration(own: bool, order: int) -> None:
    p, q = mixture(2, 40, 0, own=own), mixture(2, 25, 1, 0.2, own=own)
    q = Mixture(
        q.loc - q.loc.mean(1, keepdims=True) + p.loc.mean(1, keepdims=True), q.epistemic, q.noise
    )
    exact = integrated(p, q, order)
    assert (exact > 0.01).all()
    width = np.sqrt(p.loc.var(1) + p.noise.mean(1))
    assert np.abs(wasserstein(quantiles(p), quantiles(q), order) - exact).max() < 1e-4 * width.min()


def test_separated_components() -> None:
    """If components are far apart, W1 is accurate to 0.2 % of their separation and W2 to 2 %."""
    loc = np.array([[-1.0, -1, 0, 1, 1, 1, 1], [-1, 0, 0, 0, 1, 1, 0]])
    p = Mixture(loc, np.zeros((2, 1)), np.full((2, 1), 0.01))
    q = Mixture(loc[:, 1:4], np.zeros((2, 1)), np.full((2, 1), 0.02))
    for order, tolerance in ((1, 0.002), (2, 0.02)):
        distance = wasserstein(quantiles(p), quantiles(q), order)
        assert distance == pytest.approx(integrated(p, q, order), abs=tolerance)


def test_the_axioms_of_a_distance() -> None:
    """Identity, symmetry and triangle inequality; also shift invariance and scaling."""
    p, q, r = (quantiles(mixture(6, 30, seed)) for seed in range(3))
    for order in (1, 2):
        assert (wasserstein(p, p, order) == 0).all()
        assert (wasserstein(p, q, order) == wasserstein(q, p, order)).all()
        assert (
            wasserstein(p, q, order) <= wasserstein(p, r, order) + wasserstein(r, q, order)
        ).all()
        assert wasserstein(p + 2, q + 2, order) == pytest.approx(wasserstein(p, q, order))
        assert wasserstein(3 * p, 3 * q, order) == pytest.approx(3 * wasserstein(p, q, order))
        assert wasserstein(p, p - 0.4, order) == pytest.approx(0.4)
    assert (wasserstein(p, q, 1) <= wasserstein(p, q, 2)).all()
    assert WEIGHTS.sum() == pytest.approx(1)


def test_points_do_not_influence_each_other() -> None:
    """One point's components are so far apart that it needs a finer grid."""
    many = mixture(5, 20, 3)
    many.loc[2] *= 100
    alone = np.concatenate([quantiles(many.select_points(slice(k, k + 1))) for k in range(5)])
    assert quantiles(many) == pytest.approx(alone, abs=1e-9)


def test_distances_of_samples_match_scipy_and_the_exact_distance() -> None:
    p, q = mixture(3, 30, 4), mixture(3, 30, 5, own=True)
    a, b = (sample(one, np.random.default_rng(k), 20_000) for k, one in enumerate((p, q)))
    scipy = [wasserstein_distance(x, y) for x, y in zip(a, b, strict=True)]
    assert wasserstein_of_sets(a, b) == pytest.approx(np.array(scipy))
    assert scipy == pytest.approx(wasserstein(quantiles(p), quantiles(q)), abs=0.02)
    same = sampled_wasserstein(p, p, np.random.default_rng(0))
    assert (same > 0).all() and (same < 0.1).all()


def test_mass_inside_the_central_interval() -> None:
    p = quantiles(gaussian(0, 1))
    assert mass_inside(p, p) == pytest.approx(0.9, abs=1e-4)
    half = norm.cdf(2 * norm.ppf(0.95)) * 2 - 1
    assert mass_inside(quantiles(gaussian(0, 0.5)), p) == pytest.approx(half, abs=1e-4)
    shifted = norm.cdf(norm.ppf(0.95) - 1) - norm.cdf(-norm.ppf(0.95) - 1)
    assert mass_inside(quantiles(gaussian(1, 1)), p) == pytest.approx(shifted, abs=1e-4)


def test_ratios_and_correlations_of_widths() -> None:
    assert geometric_mean_ratio(np.array([2.0, 0.5]), np.array([1.0, 1.0])) == pytest.approx(1)
    assert geometric_mean_ratio(np.zeros(3), np.ones(3)) == 0
    rng = np.random.default_rng(0)
    a, b = rng.integers(5, size=(2, 40)).astype(float)
    assert rank_correlation(a, b) == pytest.approx(spearmanr(a, b).statistic)
    assert np.isnan(rank_correlation(np.zeros(3), np.arange(3.0)))


def test_outputs_without_noise_in_closed_form() -> None:
    """W1 of discrete distributions is exact up to the width of a cell."""
    p, q = (mixture(3, components, seed) for seed, components in enumerate((5, 40)))
    found = wasserstein(*(quantiles(m.without_noise()) for m in (p, q)))
    expected = [wasserstein_distance(a, b) for a, b in zip(p.loc, q.loc, strict=True)]
    assert found == pytest.approx(expected, rel=0.02)
    single = gaussian(1.0, np.sqrt(2)).without_noise()
    assert single.deviation == pytest.approx(1.0)


def test_energy_distance_sees_correlations_between_points() -> None:
    """At every single point the outputs have the same distribution."""
    rng = np.random.default_rng(0)
    f, noise = rng.normal(size=(1, 400)), np.ones((2, 1))
    same, opposite = (Mixture(np.concatenate([f, sign * f]), 0 * noise, noise) for sign in (1, -1))
    apart, within = (
        np.linalg.norm(same.loc[:, :, None] - other.loc[:, None], axis=0).mean()
        for other in (opposite, same)
    )
    expected = 2 * (apart - within) / np.sqrt(2)  # both have the same spread
    assert energy_distance(same, opposite) == pytest.approx(expected) and expected > 0.1
    assert energy_distance(same, same) == pytest.approx(0, abs=1e-6)
    marginals = Mixture(same.loc, noise, noise)
    assert np.isnan(energy_distance(marginals, same))
