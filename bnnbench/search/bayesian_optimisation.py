"""Bayesian optimisation: a Gaussian process and expected improvement (book, section 4.7.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnnbench.constraints import Count
from bnnbench.portable_math import Array, exp, log
from bnnbench.search.base import Search, Trial
from bnnbench.settings import Dimension

CANDIDATES = 5000
"""Random points, the best of which is suggested: about 98 % of the greatest expected improvement in
two or three dimensions. An optimiser would amplify rounding errors."""

DUPLICATE = 1e-8  # distance at which a suggestion equals a trial; a random point replaces it
GRID = 1e-3  # nats between neighbouring values
LENGTH_SCALES = (0.05, 2.0)  # bounds, for inputs in the unit cube


@dataclass(frozen=True, kw_only=True)
class BayesianOptimisation(Search):
    """Random points, then expected improvement under a GP with a Matern 5/2 kernel.

    Suggests what `skopt.Optimizer` would with a faster GP, but without its lists of candidates,
    which take most of its time. The GP is fitted once per suggestion, without
    restarts and with bounded length scales: the same quality as scikit-optimize's defaults.

    Attributes:
        initial_points: random evaluations before the GP is used; all, if there are fewer.
    """

    identity_name = "bnnbench.search.bayesian_optimisation.BayesianOptimisation"
    iterations: Count = 30
    initial_points: Count = 5
    slow_imports = ("skopt.acquisition", "bnnbench.search.gaussian_process")

    @property
    def random_points(self) -> int:
        return self.initial_points

    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        if len(history) < self.initial_points:
            point = np.random.default_rng(seed).uniform(size=len(space)).tolist()
        else:
            point = _expected_improvement(space, history, seed)
        return {d.name: _denormalise(d, u) for d, u in zip(space, point, strict=True)}


def _expected_improvement(
    space: Sequence[Dimension], history: Sequence[Trial], seed: int
) -> list[float]:
    # Imported here because scikit-optimize takes a second to load.
    from skopt.acquisition import gaussian_ei

    from bnnbench.search.gaussian_process import MaternProcess

    random = np.random.RandomState(seed % 2**32)
    points, losses = _normalise(space, history), _losses(history)
    process = MaternProcess(LENGTH_SCALES).fit(points, losses)
    candidates = _draw(random, CANDIDATES, len(space))
    found = candidates[np.argmax(gaussian_ei(candidates, process, min(losses)))]
    if (np.abs(points - found).sum(1) <= DUPLICATE).any():
        found = _draw(random, 1, len(space))[0]
    return [float(position) for position in found]


def _draw(random: np.random.RandomState, points: int, dimensions: int) -> Array:
    """Return points of the unit cube, including its upper faces, as scikit-optimize draws them."""
    uniform = random.uniform(0.0, np.nextafter(1.0, 2.0), (dimensions, points))
    return np.ascontiguousarray(np.minimum(uniform, 1.0).T)


def _losses(history: Sequence[Trial]) -> list[float]:
    """Return negative objectives; a diverged trial counts as the worst finite one."""
    finite = [t.objective for t in history if not t.diverged]
    worst = min(finite, default=0.0)
    return [-(worst if t.diverged else t.objective) for t in history]


def _normalise(space: Sequence[Dimension], history: Sequence[Trial]) -> Array:
    """Return the points of the trials in the unit cube, `[N, D]`."""
    low, high = log(np.array([[d.low, d.high] for d in space])).T
    here = log(np.array([[t.values[d.name] for d in space] for t in history]))
    points: Array = np.clip((here - low) / (high - low), 0.0, 1.0)
    return points


def _denormalise(dimension: Dimension, position: float) -> float:
    """Return a value of the grid in log space, so that rounding errors do not steer the search."""
    low, high = log(np.array([dimension.low, dimension.high])).tolist()
    rounded = round((low + position * (high - low)) / GRID) * GRID
    return float(exp(np.array([min(high, max(low, rounded))]))[0])
