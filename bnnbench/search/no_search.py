"""No search: the values in the configuration are used as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bnnbench.search.base import Search, Trial
from bnnbench.settings import Dimension
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class NoSearch(Search):
    """Every hyper-parameter must carry a value.

    Attributes:
        initial_points: not used; a protocol that shortens a search sets it whatever the search.
    """

    initial_points: int = 0

    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        names = " ".join(f"method.{d.name}=VALUE" for d in space)
        raise UserError(f"search=none needs a value for every hyper-parameter; give {names}.")
