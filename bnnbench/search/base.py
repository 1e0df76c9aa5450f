"""The interface of a search, its trials, and no search.

A search has no state: a suggestion is a function of the history and a seed, so a killed run resumes
exactly where it stopped.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from bnnbench.constraints import Between, Checked, OneOf, Whole
from bnnbench.identity import no_identity, optional_identity
from bnnbench.settings import Dimension
from bnnbench.types import UserError

OBJECTIVES = ("per_point", "joint")
"""Log-likelihoods of held-out rows that a search can maximise; see `metrics` for definitions."""


@dataclass(frozen=True)
class Trial:
    """A finished evaluation.

    Attributes:
        values: hyper-parameters, in the units of the search (`Dimension.original_units`).
        objective: mean over folds of the validation log-likelihood (`Search.objective`, original
            units); NaN if a fold diverged.
        folds: validation log-likelihood of each fold; a single one with
            `Search.held_out_fraction`.
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
        held_out_fraction: fraction of the training rows, the last ones in the order of the split,
            on which each evaluation validates a single fit to the others; None uses the folds.
        searches: class attribute, whether it can suggest values.
        slow_imports: class attribute, modules that take long to import, which is done before
            worker processes are forked.
    """

    label: str
    iterations: Annotated[int, Whole(0)] = 0
    folds: Annotated[int, Whole(2)] = 5
    objective: Annotated[str, OneOf(*OBJECTIVES)] = "per_point"
    held_out_fraction: Annotated[float | None, Between(0, 1)] = optional_identity(None)
    searches: ClassVar[bool] = True
    slow_imports: ClassVar[tuple[str, ...]] = ()
    key: ClassVar[str] = "search"

    @property
    def random_points(self) -> int:
        """Number of evaluations at the start whose values are random."""
        return 0

    @property
    def scored_parts(self) -> int:
        """Number of fits in an evaluation, each with a different validation part."""
        return self.folds if self.held_out_fraction is None else 1

    @property
    def training_settings(self) -> tuple[str, ...]:
        """Names of settings of the training that are searched like hyper-parameters."""
        return ()

    def for_method(self, names: Sequence[str], free: Sequence[str]) -> Self:
        """Return the search for a method.

        Args:
            names: its hyper-parameters.
            free: those that are searched.
        """
        return self

    def dimension(
        self, name: str, bounds: Mapping[str, Any], in_units: Mapping[str, Any]
    ) -> Dimension:
        """Return the range in which a hyper-parameter is searched.

        Args:
            name: of the hyper-parameter.
            bounds: `[low, high]` by name, standardised units.
            in_units: the same of precisions in original units, which take precedence; None means
                standardised units.

        Raises:
            UserError: if there are no bounds, or they are invalid.
        """
        original_units = in_units.get(name) is not None
        pair = in_units[name] if original_units else bounds.get(name)
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise UserError(
                f"method.{name} is searched but has no bounds [low, high]; set them in the "
                f"protocol of the method or data set, or give method.{name}=VALUE.",
                f"method.{name}",
                "no_bounds",
            )
        low, high = pair
        return Dimension(name, low, high, original_units)

    @abstractmethod
    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        """Suggest the next values to evaluate; higher objectives are better."""


def best(history: Sequence[Trial]) -> Trial:
    """Return the first trial with the highest finite objective, or the first if none is finite."""
    return max(history, key=lambda t: -math.inf if t.diverged else t.objective)


@dataclass(frozen=True, kw_only=True)
class NoSearch(Search):
    """Requires a value for every hyper-parameter.

    Attributes:
        iterations: ignored, like `initial_points` and `objective`; protocols set them for every
            search.
    """

    identity_name = "bnnbench.search.no_search.NoSearch"
    iterations: Annotated[int, Whole(0)] = no_identity(0)
    initial_points: Annotated[int, Whole(0)] = no_identity(0)
    objective: str = no_identity("per_point")
    searches: ClassVar[bool] = False

    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        names = " ".join(f"method.{d.name}=VALUE" for d in space)
        raise UserError(
            f"search=none needs a value for every hyper-parameter; set {names}.", "search"
        )
