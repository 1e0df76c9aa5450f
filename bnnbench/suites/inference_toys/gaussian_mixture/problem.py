"""The data, settings and results of the parts of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import (
    Trajectory,
    random_start,
    run_cavi,
)
from bnnbench.suites.inference_toys.gaussian_mixture.model import SyntheticData
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import PriorVarianceFit

Row = dict[str, Any]


@dataclass(frozen=True)
class PartResults:
    """The results of one part.

    Attributes:
        answers: the main numbers.
        tables: rows by table.
    """

    answers: Sequence[Answer]
    tables: Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Problem:
    """A data set and the settings of coordinate ascent on it.

    Attributes:
        data: the data.
        held_out: number of held-out points.
        prior_variance: prior variance of the means; the initial value if it is fitted.
        starts: number of starts.
        iterations: maximum number of iterations.
        tolerance: relative change of the ELBO at convergence.
        seed: seed of the starts and minibatches.
    """

    data: SyntheticData
    held_out: int
    prior_variance: float
    starts: int
    iterations: int
    tolerance: float
    seed: int

    @property
    def components(self) -> int:
        """The number of components."""
        return len(self.data.means)

    def start(self, number: int) -> np.ndarray:
        """Return the initial means `[K]` of one start, independent of the number of starts."""
        random = np.random.default_rng([self.seed, number])
        return random_start(self.components, self.prior_variance, random)

    def run(self, start: np.ndarray, prior_variance: float) -> Trajectory:
        """Run coordinate ascent from the means `start`, `[K]`."""
        points = self.data.draw()
        return run_cavi(points, start, prior_variance, self.iterations, self.tolerance)

    def run_all_starts(self) -> list[Trajectory]:
        """Run coordinate ascent from every start."""
        return [self.run(self.start(n), self.prior_variance) for n in range(self.starts)]


def best_start(results: Sequence[Trajectory] | Sequence[PriorVarianceFit]) -> int:
    """Return the index of the start with the highest final ELBO."""
    return int(np.argmax([result.elbo[-1] for result in results]))
