"""No search: hyper-parameters have the values in the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from bnnbench.constraints import Whole
from bnnbench.identity import no_identity
from bnnbench.search.base import Search, Trial
from bnnbench.settings import Dimension
from bnnbench.types import UserError


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
