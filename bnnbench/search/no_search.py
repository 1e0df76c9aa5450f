"""No search: the values in the configuration are used as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bnnbench.identity import no_identity
from bnnbench.search.base import Search, Trial
from bnnbench.settings import Dimension
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class NoSearch(Search):
    """Every hyper-parameter must carry a value.

    Attributes:
        iterations: not used, as `initial_points` and `objective`; a protocol that shortens a
            search sets both, whatever the search.
    """

    iterations: int = no_identity(0)
    initial_points: int = no_identity(0)
    objective: str = no_identity("per_point")
    searches: ClassVar[bool] = False

    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        names = " ".join(f"method.{d.name}=VALUE" for d in space)
        raise UserError(f"search=none needs a value for every hyper-parameter; give {names}.")
