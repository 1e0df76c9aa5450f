"""What the parts of a run share: data, starts, and what a part leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnnbench.results.answers import Answer
from bnnbench.suites.inference_toys.gaussian_mixture.coordinate_ascent import (
    Ascent,
    ascend,
    random_start,
)
from bnnbench.suites.inference_toys.gaussian_mixture.model import MadeData
from bnnbench.suites.inference_toys.gaussian_mixture.variational_em import PriorVarianceFit

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """What one part leaves.

    Attributes:
        answers: the numbers that a reader would quote.
        tables: rows by table.
    """

    answers: Sequence[Answer]
    tables: Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Scene:
    """Data and how coordinate ascent explains them.

    Attributes:
        data: what is drawn.
        held_out: points that predictions are scored on.
        prior_variance: of the means; where it starts if it is fitted.
        starts: how many.
        iterations: at the most.
        tolerance: relative change of the ELBO at which it has converged.
        seed: of the starts and of minibatches.
    """

    data: MadeData
    held_out: int
    prior_variance: float
    starts: int
    iterations: int
    tolerance: float
    seed: int

    @property
    def components(self) -> int:
        """How many."""
        return len(self.data.loc)

    def start(self, number: int) -> np.ndarray:
        """Means `[K]` of one start, whichever others there are."""
        random = np.random.default_rng([self.seed, number])
        return random_start(self.components, self.prior_variance, random)

    def ascent(self, start: np.ndarray, prior_variance: float) -> Ascent:
        """Coordinate ascent from some means `[K]`."""
        points = self.data.draw()
        return ascend(points, start, prior_variance, self.iterations, self.tolerance)

    def ascents(self) -> list[Ascent]:
        """The same from every start."""
        return [self.ascent(self.start(n), self.prior_variance) for n in range(self.starts)]


def best_of(paths: Sequence[Ascent] | Sequence[PriorVarianceFit]) -> int:
    """The number of the start that ended highest."""
    return int(np.argmax([path.elbo[-1] for path in paths]))
