"""The contract of a search and the record of its trials.

A search keeps no state: what it suggests is a function of the history and a seed, so a run that
was killed goes on exactly where it stopped.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bnnbench.checks import check_int
from bnnbench.identity import no_identity
from bnnbench.settings import Dimension


@dataclass(frozen=True)
class Trial:
    """One finished evaluation.

    Attributes:
        values: the hyper-parameters tried, standardised units.
        objective: mean over folds of the validation log-likelihood (per point, original units);
            NaN when a fold diverged.
        folds: the same for each fold.
        seconds: wall time, the suggestion included.
        suggest_seconds: of which the suggestion.
    """

    values: dict[str, float]
    objective: float
    folds: tuple[float, ...]
    seconds: float
    suggest_seconds: float

    @property
    def diverged(self) -> bool:
        return not math.isfinite(self.objective)


@dataclass(frozen=True, kw_only=True)
class Search(ABC):
    """A way to choose hyper-parameters.

    Attributes:
        label: its name.
        summary: one line for `bnnbench list`.
        iterations: evaluations per split.
        folds: folds of the shuffled cross-validation behind each evaluation.
        searches: class attribute, whether it can suggest anything at all.
    """

    label: str
    summary: str = no_identity("")
    iterations: int = 0
    folds: int = 5
    searches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_int("search.iterations", self.iterations, least=0)
        check_int("search.folds", self.folds, least=2)

    def load(self) -> None:
        """Imports what suggestions need, where that takes long."""
        return

    @abstractmethod
    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        """The next values to try; higher objectives are better."""


def best(history: Sequence[Trial]) -> Trial:
    """The first trial with the highest finite objective, or the first where none is finite."""
    return max(history, key=lambda t: -math.inf if t.diverged else t.objective)
