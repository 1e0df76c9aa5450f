"""Grid search: all combinations of declared values, in a fixed order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import Annotated, Any, Self

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.identity import no_identity
from bnnbench.near_names import with_known
from bnnbench.search.base import Search, Trial
from bnnbench.settings import BATCH_SIZE, PRECISIONS, Dimension
from bnnbench.types import UserError

UNDECLARED_VALUES = 3
"""Values of a hyper-parameter for which none are declared."""

Lists = Mapping[str, Any]
"""Lists of values by name; None declares nothing."""


@dataclass(frozen=True, kw_only=True)
class Grid(Search):
    """All combinations of the values of each hyper-parameter; those of the last one vary fastest.

    A hyper-parameter without declared values has three: its bounds and their geometric mean. The
    order is that in which a method names its hyper-parameters, then the batch size.

    Attributes:
        iterations: the number of combinations, set by `for_method`.
        initial_points: ignored; protocols set it for every search.
        values: lists by name, standardised units; None declares nothing. `batch_size`, the rows per
            minibatch, may be one of the names.
        values_original_units: the same of precisions, in the units of the target.
    """

    identity_name = "bnnbench.search.grid.Grid"
    initial_points: Annotated[int, Whole(0)] = no_identity(0)
    values: Lists = field(default_factory=dict)
    values_original_units: Lists = field(default_factory=dict)

    def check(self) -> None:
        for key, lists in self._by_key():
            if not isinstance(lists, Mapping):
                raise UserError(
                    f"{key} must give lists by name, as in {{dropout: [0.01, 0.05]}}, not "
                    f"{lists!r}.",
                    key,
                    "not_a_mapping",
                )
            for name, given in _declared(lists).items():
                each = Whole() if name == BATCH_SIZE else Between(0)
                ListOf(each, order="distinct")(f"{key}.{name}", given)
        for name in _declared(self.values).keys() & _declared(self.values_original_units):
            raise UserError(
                f"search.values.{name} has no effect, since search.values_original_units.{name} is "
                "given; set one to null.",
                f"search.values.{name}",
                "two_units",
            )

    def _by_key(self) -> Iterator[tuple[str, Lists]]:
        yield "search.values", self.values
        yield "search.values_original_units", self.values_original_units

    @property
    def training_settings(self) -> tuple[str, ...]:
        return (BATCH_SIZE,) if BATCH_SIZE in _declared(self.values) else ()

    def for_method(self, names: Sequence[str], free: Sequence[str]) -> Self:
        """Keep the lists of the hyper-parameters that the method leaves open.

        A preset may declare a precision that another likelihood does not have.

        Raises:
            UserError: if a list is of another name, unless it is a precision.
        """
        any_units = [*dict.fromkeys((*PRECISIONS, *names, BATCH_SIZE))]
        kept: list[dict[str, tuple[float, ...]]] = []
        for (key, lists), known in zip(self._by_key(), (any_units, PRECISIONS), strict=True):
            declared = _declared(lists)
            for name in declared:
                if name not in known:
                    found = with_known(name, known)
                    raise UserError(f"{key}: unknown name {found}.", f"{key}.{name}", "unknown")
            kept.append({n: one for n, one in declared.items() if n in (*free, BATCH_SIZE)})
        values, in_units = kept
        sizes = [len(one) for one in (*values.values(), *in_units.values())]
        undeclared = [name for name in free if name not in {*values, *in_units}]
        count = math.prod(sizes) * UNDECLARED_VALUES ** len(undeclared)
        return replace(self, values=values, values_original_units=in_units, iterations=count)

    def dimension(self, name: str, bounds: Lists, in_units: Lists) -> Dimension:
        original_units = self.values_original_units.get(name) is not None
        values = (self.values_original_units if original_units else self.values).get(name)
        if values is None:
            whole = super().dimension(name, bounds, in_units)
            middle = math.sqrt(whole.low * whole.high)
            return replace(whole, values=(whole.low, middle, whole.high))
        return Dimension(name, min(values), max(values), original_units, values)

    def suggest(
        self, space: Sequence[Dimension], history: Sequence[Trial], seed: int
    ) -> dict[str, float]:
        combinations = product(*(dimension.values for dimension in space))
        point = next(islice(combinations, len(history), None))
        return {d.name: value for d, value in zip(space, point, strict=True)}


def _declared(lists: Lists) -> dict[str, tuple[float, ...]]:
    """Return the lists that declare values."""
    return {
        name: tuple(one) if isinstance(one, list) else one
        for name, one in lists.items()
        if one is not None
    }
