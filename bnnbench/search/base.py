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

from bnnbench.checks import check_choice, check_int
from bnnbench.identity import no_identity
from bnnbench.settings import Dimension

OBJECTIVES = ("per_point", "joint")
"""Which log-likelihood of the rows held out is maximised: `metrics` says what each of them is."""


@dataclass(frozen=True)
class Trial:
    """One finished evaluation.

    Attributes:
        values: the hyper-parameters tried, standardised units.
        objective: mean over folds of the validation log-likelihood (`Search.objective`, original
            units); NaN when a fold diverged.
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
        objective: the log-likelihood that is maximised, `per_point` or `joint`. The book does not
            say which; the code of Khan et al. (2018) maximises the joint one.
        searches: class attribute, whether it can suggest anything at all.
    """

    label: str
    summary: str = no_identity("")
    iterations: int = 0
    folds: int = 5
    objective: str = "per_point"
    searches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_int("search.iterations", self.iterations, least=0)
        check_int("search.folds", self.folds, least=2)
        check_choice("search.objective", self.objective, OBJECTIVES)

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
