"""The interface of a search, and its trials.

A search has no state: a suggestion is a function of the history and a seed, so a killed run resumes
exactly where it stopped.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from bnnbench.constraints import Checked, OneOf, Whole
from bnnbench.settings import Dimension

OBJECTIVES = ("per_point", "joint")
"""Log-likelihoods of held-out rows that a search can maximise; see `metrics` for definitions."""


@dataclass(frozen=True)
class Trial:
    """A finished evaluation.

    Attributes:
        values: hyper-parameters, standardised units.
        objective: mean over folds of the validation log-likelihood (`Search.objective`, original
            units); NaN if a fold diverged.
        folds: validation log-likelihood of each fold.
        seconds: wall time, including the suggestion.
        suggest_seconds: wall time of the suggestion.
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
class Search(Checked, ABC):
    """A way to choose hyper-parameters.

    Attributes:
        label: its name.
        iterations: evaluations per split.
        folds: folds of the shuffled cross-validation in each evaluation.
        objective: log-likelihood to maximise, `per_point` or `joint`. The book does not specify it;
            the code of Khan et al. (2018) maximises the joint one.
        searches: class attribute, whether it can suggest values.
        slow_imports: class attribute, modules that take long to import, which is done before
            worker processes are forked.
    """

    label: str
    iterations: Annotated[int, Whole(0)] = 0
    folds: Annotated[int, Whole(2)] = 5
    objective: Annotated[str, OneOf(*OBJECTIVES)] = "per_point"
    searches: ClassVar[bool] = True
    slow_imports: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str] = "search"

    @abstractmethod
    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        """Suggest the next values to evaluate; higher objectives are better."""


def best(history: Sequence[Trial]) -> Trial:
    """Return the first trial with the highest finite objective, or the first if none is finite."""
    return max(history, key=lambda t: -math.inf if t.diverged else t.objective)
