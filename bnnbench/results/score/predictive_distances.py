"""Distances between predictive distributions, point by point.

In one dimension the Wasserstein distance of order p is the distance of quantile functions,

    W_p(F, G)^p = int_0^1 |F^-1(u) - G^-1(u)|^p du = int |F^-1(Phi(z)) - G^-1(Phi(z))|^p phi(z) dz

(Villani, "Topics in Optimal Transportation", 2003, theorem 2.18). As a function of the normal score
z, the quantile function of a Gaussian is a straight line and that of a mixture a smooth curve, so
an even grid of scores integrates them accurately: to 1e-4 of the mixture's width where components
overlap, and to 0.2 % of their separation (W1; W2 to 2 %) where they leave gaps. The tests verify
this.

There is no divergence between sample sets here: without smoothing it is infinite, and with
smoothing it depends on the smoothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bnnbench.results.score.predictions import Mixture

N_CELLS, POINTS_PER_CELL = 1000, 8
"""Number of cells of scores over which quantile functions are averaged, and points in each."""

_FINE = np.linspace(-6.0, 6.0, N_CELLS * POINTS_PER_CELL)
_DENSITY = np.exp(-0.5 * _FINE**2).reshape(N_CELLS, POINTS_PER_CELL)

WEIGHTS = _DENSITY.sum(1) / _DENSITY.sum()
"""Probability of each cell, `[K]`; 2e-9 lies outside."""

NORMAL_SCORES = (_FINE.reshape(N_CELLS, POINTS_PER_CELL) * _DENSITY).sum(1) / _DENSITY.sum(1)
"""Mean score of each cell, `[K]`: quantiles of a standard normal distribution."""

GRID_MARGIN = 7.5
"""Standard deviations beyond the outermost components where the CDF is taken to be 0 or 1."""

SHARED_RESOLUTION, SEPARATE_RESOLUTION = 16, 4
"""CDF grid points per standard deviation, if all components share one, or else per median one."""

MIN_GRID_POINTS, MAX_GRID_POINTS = 256, 8192
"""Limits of the size of such a grid."""

MAX_ARRAY_ELEMENTS = 4_000_000
"""Maximum size of an intermediate array (32 MB)."""

MAX_QUANTILE_STEPS, QUANTILE_TOLERANCE = 60, 1e-13
"""Steps of the search for quantiles, and the last step in standard deviations."""

N_DRAWS = 1000


def quantiles(mixture: Mixture) -> np.ndarray:
    """Return the quantile function of every point, averaged over each cell, `[M, K]`."""
    if mixture.components == 1:
        return np.asarray(mixture.loc + mixture.deviation * NORMAL_SCORES)
    if not mixture.deviation.any():
        from scipy.special import ndtr

        places = (ndtr(NORMAL_SCORES) * mixture.components).astype(int)
        return np.asarray(np.sort(mixture.loc, 1)[:, places])
    low = (mixture.loc - GRID_MARGIN * mixture.deviation).min(1)
    high = (mixture.loc + GRID_MARGIN * mixture.deviation).max(1)
    shared = mixture.deviation.shape[1] == 1
    resolution = (
        (SHARED_RESOLUTION if shared else SEPARATE_RESOLUTION)
        * (high - low)
        / np.median(mixture.deviation, 1)
    )
    sizes = 2 ** np.ceil(np.log2(np.clip(resolution, MIN_GRID_POINTS, MAX_GRID_POINTS))).astype(int)
    result = np.empty((len(low), N_CELLS))
    for size in np.unique(sizes):
        same_size = np.flatnonzero(sizes == size)
        elements_per_point = (
            max(4 * size, N_CELLS * POINTS_PER_CELL) if shared else size * mixture.components
        )
        for chunk in np.array_split(
            same_size, 1 + len(same_size) * elements_per_point // MAX_ARRAY_ELEMENTS
        ):
            grid = np.linspace(low[chunk], high[chunk], size, axis=1)
            function = (_mixture_cdf_by_fft if shared else mixture_cdf)(
                mixture.select_points(chunk), grid
            )
            result[chunk] = _invert_cdf(grid, function)
    return result


def exact_quantiles(mixture: Mixture, levels: np.ndarray) -> np.ndarray:
    """Return quantiles `[M, K]` of every point by Newton's method, or bisection where it fails.

    Args:
        mixture: of M points.
        levels: K probabilities for each point, `[M, K]`, or for all, `[1, K]`.
    """
    from scipy.special import ndtr, ndtri

    if mixture.log:
        return mixture.targets(exact_quantiles(replace(mixture, log=False), levels))
    deviation = mixture.deviation[:, None]
    ends = mixture.loc[:, None] + deviation * ndtri(levels)[..., None]
    low, high = ends.min(2), ends.max(2)  # a quantile is between those of the components
    total = np.sqrt(mixture.loc.var(1) + (mixture.deviation**2).mean(1))[:, None]
    found: np.ndarray = np.clip(mixture.loc.mean(1)[:, None] + total * ndtri(levels), low, high)
    for _ in range(MAX_QUANTILE_STEPS if mixture.components > 1 else 0):
        scores = mixture.scores(found)
        error = ndtr(scores).mean(2) - levels
        density = (np.exp(-0.5 * scores**2) / deviation).mean(2) / np.sqrt(2 * np.pi)
        low, high = np.where(error < 0, found, low), np.where(error < 0, high, found)
        with np.errstate(all="ignore"):
            newton = found - error / density
        before = found
        found = np.where((low <= newton) & (newton <= high), newton, (low + high) / 2)
        if (np.abs(found - before) <= QUANTILE_TOLERANCE * total).all():
            break
    return found


def wasserstein(p: np.ndarray, q: np.ndarray, order: int = 1) -> np.ndarray:
    """Return `W_order` of every point, `[M]`, in the unit of the quantiles.

    Args:
        p: quantiles at `NORMAL_SCORES`, `[M, K]`.
        q: quantiles of the other distributions, `[M, K]`.
        order: 1 or 2.
    """
    return np.asarray((np.abs(p - q) ** order @ WEIGHTS) ** (1 / order))


def sampled_wasserstein(
    p: Mixture, q: Mixture, generator: np.random.Generator, draws: int = N_DRAWS
) -> np.ndarray:
    """Return W1 between two sets of draws, `[M]`; sampling noise makes it positive.

    This is the score of the NeurIPS 2021 competition on approximate inference (1,000 draws of the
    prediction and of the reference), which calls W1 "W2".
    """
    return wasserstein_of_sets(sample(p, generator, draws), sample(q, generator, draws))


def wasserstein_of_sets(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return W1 between two sets of draws of equal size, `[M]`, from `[M, draws]` each."""
    return np.asarray(np.abs(np.sort(a, 1) - np.sort(b, 1)).mean(1))


def sample(mixture: Mixture, generator: np.random.Generator, draws: int = N_DRAWS) -> np.ndarray:
    """Draw independent targets at every point, `[M, draws]`."""
    component = generator.integers(mixture.components, size=(len(mixture.loc), draws))
    loc, deviation = (
        np.take_along_axis(part, component if part.shape[1] > 1 else np.zeros_like(component), 1)
        for part in (mixture.loc, mixture.deviation)
    )
    return mixture.targets(loc + deviation * generator.standard_normal(component.shape))


def energy_distance(p: Mixture, q: Mixture, draws: int = N_DRAWS) -> float:
    """Return the energy distance between the joint distributions of the outputs at all points.

    `2 E|f - g| - E|f - f'| - E|g - g'|` for vectors f and g of the outputs of a network at M points
    and the root mean square over points as norm (Székely & Rizzo, "Energy statistics", 2013).
    Unlike distances at single points, it depends on the correlations between points.

    Args:
        p: mixtures whose component s is the same network at every point.
        q: likewise.
        draws: maximum number of components used, evenly spaced.

    Returns:
        NaN if components have a variance: the joint distribution is then unknown.
    """
    if p.epistemic.any() or q.epistemic.any():
        return float("nan")
    f, g = (
        part.loc[:, np.linspace(0, part.components - 1, min(draws, part.components)).astype(int)]
        for part in (p, q)
    )
    cross, within = _mean_distance(f, g), _mean_distance(f, f) + _mean_distance(g, g)
    return (2 * cross - within) / float(np.sqrt(len(f)))


def _mean_distance(f: np.ndarray, g: np.ndarray) -> float:
    """Return the mean Euclidean distance between columns of `[M, S]` and of `[M, T]`."""
    squares = (f**2).sum(0)[:, None] + (g**2).sum(0) - 2 * f.T @ g
    return float(np.sqrt(np.maximum(squares, 0)).mean())


def mass_inside(p: np.ndarray, q: np.ndarray, level: float = 0.9) -> np.ndarray:
    """Return the probability under `p` of the central interval of `q` with mass `level`, `[M]`.

    Args:
        p: quantiles at `NORMAL_SCORES`, `[M, K]`.
        q: quantiles of the reference, `[M, K]`.
        level: mass of the interval under `q`.
    """
    from scipy.special import ndtr, ndtri

    end = ndtri(0.5 + level / 2)
    ends = [[np.interp(score, NORMAL_SCORES, values) for values in q] for score in (-end, end)]
    inside = [
        ndtr(np.interp(upper, values, NORMAL_SCORES))
        - ndtr(np.interp(lower, values, NORMAL_SCORES))
        for lower, upper, values in zip(*ends, p, strict=True)
    ]
    return np.array(inside)


def geometric_mean_ratio(a: np.ndarray, b: np.ndarray) -> float:
    """Return the geometric mean of `a / b`; 0 if any `a` is 0."""
    with np.errstate(divide="ignore"):
        return float(np.exp(np.mean(np.log(a) - np.log(b))))


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's rank correlation; NaN if `a` or `b` is constant."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (a, b)]
    norm = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float((ranks[0] * ranks[1]).sum() / norm) if norm else float("nan")


def mixture_cdf(mixture: Mixture, grid: np.ndarray) -> np.ndarray:
    """Return the CDFs on their grids, `[M, G]`, averaged over components."""
    from scipy.special import ndtr

    return np.asarray(ndtr(mixture.scores(grid)).mean(2))


def _mixture_cdf_by_fft(mixture: Mixture, grid: np.ndarray) -> np.ndarray:
    """Return `mixture_cdf` for components of equal standard deviation, about 100 times faster.

    Each component's mass is split between its two neighbouring grid points. This preserves means
    and adds `h^2 / 6` to variances on average, which is subtracted from the variance of the
    Gaussian that the masses are convolved with.
    """
    from scipy.fft import irfft, rfft
    from scipy.special import ndtr

    points, size = grid.shape
    width = (grid[:, -1:] - grid[:, :1]) / (size - 1)
    position = (mixture.loc - grid[:, :1]) / width
    below = position.astype(int)
    fraction = position - below
    flat = (below + size * np.arange(points)[:, None]).ravel()
    masses = np.bincount(flat, (1 - fraction).ravel(), points * size)
    masses += np.bincount(flat + 1, fraction.ravel(), points * size)
    variance = mixture.deviation**2
    steps = (
        np.arange(1 - size, size)
        * width
        / np.sqrt(np.maximum(variance - width**2 / 6, variance / 4))
    )
    spectrum = rfft(masses.reshape(points, size), 2 * size) * rfft(ndtr(steps), 2 * size)
    return np.asarray(irfft(spectrum)[:, size - 1 : 2 * size - 1] / mixture.components)


def _invert_cdf(grid: np.ndarray, function: np.ndarray) -> np.ndarray:
    """Return quantiles, `[M, K]`, by interpolating the normal scores of a CDF."""
    from scipy.special import ndtri

    rising = np.maximum.accumulate(np.clip(function, 1e-16, 1 - 1e-16), 1)
    scores = [np.interp(_FINE, z, x) for z, x in zip(ndtri(rising), grid, strict=True)]
    cells = np.stack(scores).reshape(len(grid), N_CELLS, POINTS_PER_CELL)
    return np.asarray((cells * _DENSITY).sum(2) / _DENSITY.sum(1))
