"""How far apart two predictive distributions are, point by point: pure functions of mixtures.

In one dimension the Wasserstein distance of order p is the distance of quantile functions,

    W_p(F, G)^p = int_0^1 |F^-1(u) - G^-1(u)|^p du = int |F^-1(Phi(z)) - G^-1(Phi(z))|^p phi(z) dz

(Villani, "Topics in Optimal Transportation", 2003, theorem 2.18). Over normal scores z the quantile
function of a Gaussian is a straight line and that of a mixture a smooth curve, so that an even grid
of scores integrates them closely: to 1e-4 of the mixture's width where components overlap, and to
0.2 % of what separates them (W1; W2 to 2 %) where they leave gaps. The tests hold it to that.

Never a divergence between sample sets: without smoothing it is infinite, and with smoothing it
measures the smoothing.
"""

from __future__ import annotations

import numpy as np

from bnnbench.results.mixtures import Mixture

CELLS, INSIDE = 1000, 8
"""Intervals of scores over which quantile functions are averaged, and points in each."""

_FINE = np.linspace(-6.0, 6.0, CELLS * INSIDE)
_DENSITY = np.exp(-0.5 * _FINE**2).reshape(CELLS, INSIDE)

WEIGHTS = _DENSITY.sum(1) / _DENSITY.sum()
"""The probability of each cell, `[K]`; 2e-9 lies beyond all of them."""

SCORES = (_FINE.reshape(CELLS, INSIDE) * _DENSITY).sum(1) / _DENSITY.sum(1)
"""The mean score of each cell, `[K]`: the quantiles of a standard normal distribution."""

REACH = 7.5
"""Deviations beyond the outermost components where a distribution function is 0 or 1."""

FINE, COARSE = 16, 4
"""Points per deviation of the grid of a distribution function, where all components share theirs,
and the middle one's where each has its own."""

FEWEST, MOST = 256, 8192
"""Points of such a grid."""

ELEMENTS = 4_000_000
"""Numbers of an array that is held at once: 32 MB."""

DRAWS = 1000
"""Of `drawn_wasserstein`."""


def quantiles(mixture: Mixture) -> np.ndarray:
    """The quantile function of every point, averaged over each cell of scores, `[M, K]`."""
    if mixture.components == 1:
        return mixture.loc + mixture.deviation * SCORES
    low = (mixture.loc - REACH * mixture.deviation).min(1)
    high = (mixture.loc + REACH * mixture.deviation).max(1)
    shared = mixture.deviation.shape[1] == 1
    wanted = (FINE if shared else COARSE) * (high - low) / np.median(mixture.deviation, 1)
    sizes = 2 ** np.ceil(np.log2(np.clip(wanted, FEWEST, MOST))).astype(int)
    found = np.empty((len(low), CELLS))
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        each = max(4 * size, CELLS * INSIDE) if shared else size * mixture.components
        for some in np.array_split(own, 1 + len(own) * each // ELEMENTS):
            grid = np.linspace(low[some], high[some], size, axis=1)
            function = (_convolved if shared else _summed)(mixture.rows(some), grid)
            found[some] = _inverted(grid, function)
    return found


def wasserstein(p: np.ndarray, q: np.ndarray, order: int = 1) -> np.ndarray:
    """`W_order` of every point, `[M]`, in the unit of the quantiles.

    Args:
        p: quantiles at `SCORES`, `[M, K]`.
        q: of the other distributions, likewise.
        order: 1 or 2.
    """
    found: np.ndarray = (np.abs(p - q) ** order @ WEIGHTS) ** (1 / order)
    return found


def drawn_wasserstein(
    p: Mixture, q: Mixture, generator: np.random.Generator, draws: int = DRAWS
) -> np.ndarray:
    """W1 of two sets of draws, `[M]`: a distance with the noise of both sets in it, never 0.

    The score of the NeurIPS 2021 competition on approximate inference: 1,000 draws of a target
    against 1,000 of its reference, W1 under the name of W2.
    """
    return wasserstein_of_sets(drawn(p, generator, draws), drawn(q, generator, draws))


def wasserstein_of_sets(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """W1 of two sets of draws of one size at every point, `[M]`, from `[M, draws]` each."""
    found: np.ndarray = np.abs(np.sort(a, 1) - np.sort(b, 1)).mean(1)
    return found


def drawn(mixture: Mixture, generator: np.random.Generator, draws: int = DRAWS) -> np.ndarray:
    """Independent draws of every point's target, `[M, draws]`."""
    chosen = generator.integers(mixture.components, size=(len(mixture.loc), draws))
    loc, deviation = (
        np.take_along_axis(part, chosen if part.shape[1] > 1 else np.zeros_like(chosen), 1)
        for part in (mixture.loc, mixture.deviation)
    )
    found: np.ndarray = loc + deviation * generator.standard_normal(chosen.shape)
    return found


def mass_inside(p: np.ndarray, q: np.ndarray, level: float = 0.9) -> np.ndarray:
    """The probability that `p` gives to the central interval that holds `level` of `q`, `[M]`.

    Args:
        p: quantiles at `SCORES`, `[M, K]`.
        q: of the reference, likewise.
        level: of the interval.
    """
    from scipy.special import ndtr, ndtri

    end = ndtri(0.5 + level / 2)
    ends = [[np.interp(score, SCORES, own) for own in q] for score in (-end, end)]
    inside = [
        ndtr(np.interp(upper, own, SCORES)) - ndtr(np.interp(lower, own, SCORES))
        for lower, upper, own in zip(*ends, p, strict=True)
    ]
    return np.array(inside)


def geometric_mean_ratio(a: np.ndarray, b: np.ndarray) -> float:
    """Of `a / b`: twice too wide and twice too narrow make 1; 0 where `a` is 0 anywhere."""
    with np.errstate(divide="ignore"):
        return float(np.exp(np.mean(np.log(a) - np.log(b))))


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's; NaN where one of them is the same everywhere."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (a, b)]
    norm = float(np.sqrt((ranks[0] ** 2).sum() * (ranks[1] ** 2).sum()))
    return float((ranks[0] * ranks[1]).sum() / norm) if norm else float("nan")


def _summed(mixture: Mixture, grid: np.ndarray) -> np.ndarray:
    """The distribution functions on their grids, `[M, G]`, one component after another."""
    from scipy.special import ndtr

    scores = (grid[:, :, None] - mixture.loc[:, None]) / mixture.deviation[:, None]
    found: np.ndarray = ndtr(scores).mean(2)
    return found


def _convolved(mixture: Mixture, grid: np.ndarray) -> np.ndarray:
    """The same where all components of a point share their deviation, in a hundredth of the time.

    Each component is divided between the two points of the grid it lies between, which keeps means
    and adds `h^2 / 6` to variances on average; so much is taken off the Gaussian that the shares
    are then convolved with.
    """
    from scipy.fft import irfft, rfft
    from scipy.special import ndtr

    points, size = grid.shape
    width = (grid[:, -1:] - grid[:, :1]) / (size - 1)
    place = (mixture.loc - grid[:, :1]) / width
    below = place.astype(int)
    share = place - below
    flat = (below + size * np.arange(points)[:, None]).ravel()
    masses = np.bincount(flat, (1 - share).ravel(), points * size)
    masses += np.bincount(flat + 1, share.ravel(), points * size)
    own = mixture.deviation**2
    steps = np.arange(1 - size, size) * width / np.sqrt(np.maximum(own - width**2 / 6, own / 4))
    spectrum = rfft(masses.reshape(points, size), 2 * size) * rfft(ndtr(steps), 2 * size)
    found: np.ndarray = irfft(spectrum)[:, size - 1 : 2 * size - 1] / mixture.components
    return found


def _inverted(grid: np.ndarray, function: np.ndarray) -> np.ndarray:
    """Quantiles by interpolation of the scores of a distribution function, `[M, K]`."""
    from scipy.special import ndtri

    rising = np.maximum.accumulate(np.clip(function, 1e-16, 1 - 1e-16), 1)
    at = [np.interp(_FINE, z, x) for z, x in zip(ndtri(rising), grid, strict=True)]
    cells = np.stack(at).reshape(len(grid), CELLS, INSIDE)
    found: np.ndarray = (cells * _DENSITY).sum(2) / _DENSITY.sum(1)
    return found
