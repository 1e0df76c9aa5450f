"""Bayesian optimisation: a Gaussian process and expected improvement (book, section 4.7.3.1)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bnnbench.constraints import Count
from bnnbench.portable_math import exp, log
from bnnbench.search.base import Search, Trial
from bnnbench.settings import Dimension
from bnnbench.types import UserError

CANDIDATES = 5000
"""Random points, the best of which is suggested: about 98 % of the greatest expected improvement in
two or three dimensions. An optimiser would amplify rounding errors."""

GRID = 1e-3  # nats between neighbouring values
LENGTH_SCALES = (0.05, 2.0)  # bounds, for inputs in the unit cube


@dataclass(frozen=True, kw_only=True)
class BayesianOptimisation(Search):
    """Random points, then expected improvement under a GP with a Matern 5/2 kernel.

    Uses scikit-optimize with a faster GP in place of its own. The GP is fitted once per suggestion,
    without restarts and with bounded length scales: the same quality as scikit-optimize's defaults
    in less time.

    Attributes:
        initial_points: random evaluations before the GP is used.
    """

    identity_name = "bnnbench.search.bayesian_optimisation.BayesianOptimisation"
    iterations: Count = 30
    initial_points: Count = 5

    def check(self) -> None:
        if self.initial_points > self.iterations:
            raise UserError(
                "search.initial_points must be at most search.iterations "
                f"({self.iterations}), not {self.initial_points}.",
                "search.initial_points",
                "too_many",
            )

    def load(self) -> None:
        import skopt  # noqa: F401

        import bnnbench.search.gaussian_process  # noqa: F401

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
    from skopt import Optimizer

    from bnnbench.search.gaussian_process import MaternProcess

    optimizer = Optimizer(
        _unit_cube(len(space)),
        base_estimator=MaternProcess(LENGTH_SCALES),
        n_initial_points=len(history),
        acq_func="EI",
        acq_optimizer="sampling",
        acq_optimizer_kwargs={"n_points": CANDIDATES},
        random_state=seed % 2**32,
    )
    points = [[_normalise(d, t.values[d.name]) for d in space] for t in history]
    with warnings.catch_warnings():
        # A length scale at its bound and a repeated point are expected.
        warnings.simplefilter("ignore")
        optimizer.tell(points, _losses(history))
        return [float(u) for u in optimizer.ask()]


@cache
def _unit_cube(dimensions: int) -> list[Any]:
    """Return the space for scikit-optimize; cached because creating it takes longer than a fit."""
    from skopt.space import Real

    return [Real(0.0, 1.0) for _ in range(dimensions)]


def _losses(history: Sequence[Trial]) -> list[float]:
    """Return negative objectives; a diverged trial counts as the worst finite one."""
    finite = [t.objective for t in history if not t.diverged]
    worst = min(finite, default=0.0)
    return [-(worst if t.diverged else t.objective) for t in history]


def _normalise(dimension: Dimension, value: float) -> float:
    low, high, here = log(np.array([dimension.low, dimension.high, value])).tolist()
    return min(1.0, max(0.0, (here - low) / (high - low)))


def _denormalise(dimension: Dimension, position: float) -> float:
    """Return a value of the grid in log space, so that rounding errors do not steer the search."""
    low, high = log(np.array([dimension.low, dimension.high])).tolist()
    rounded = round((low + position * (high - low)) / GRID) * GRID
    return float(exp(np.array([min(high, max(low, rounded))]))[0])
