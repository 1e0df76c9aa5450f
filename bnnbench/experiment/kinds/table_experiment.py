"""Base class of experiments that compute tables of numbers in seconds.

A subclass declares its settings with their valid ranges, the settings that name its folder, and
its units; `tables` computes the tables of one unit. Everything else follows.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pandas as pd

from bnnbench.constraints import check_settings
from bnnbench.experiment.kinds.base import Experiment
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.types import UserError

TOP_LEVEL = ("seed", "device", "reading", "splits")
"""Settings of many experiments that are not in the group `experiment`."""

Tables = Mapping[str, "pd.DataFrame | Iterable[Any]"]
"""Tables by name: a data frame, or rows as mappings or dataclasses."""


@dataclass(frozen=True, kw_only=True)
class TableExperiment(Experiment):
    """An experiment whose units are cases, such as data sets, each with a few tables.

    Attributes:
        name: class attribute, the name in progress output.
        folder_settings: class attribute, the settings that name the folder of a run.
        columns: class attribute, the settings that are columns of tables over many runs; if
            empty, those that name the folder.
        one_process: class attribute, whether one process computes all units, because starting
            another takes longer than the units.
        top_level: class attribute, the settings that are not in the group `experiment`.
    """

    name: ClassVar[str]
    folder_settings: ClassVar[tuple[str, ...]] = ("seed",)
    columns: ClassVar[tuple[str, ...]] = ()
    one_process: ClassVar[bool] = False
    top_level: ClassVar[tuple[str, ...]] = TOP_LEVEL

    @abstractmethod
    def cases(self) -> Mapping[str, Any]:
        """Return what `tables` needs to know about each unit, by the name of the unit."""

    @abstractmethod
    def tables(self, case: Any) -> Tables:
        """Compute the tables of one unit.

        Args:
            case: one of the values of `cases`.
        """

    def check(self) -> None:
        """Raise `UserError` if a setting does not meet the constraints in its type."""
        check_settings(self, "experiment", self.top_level)

    @property
    def title(self) -> str:
        return self.name

    def units(self) -> tuple[str, ...]:
        return tuple(self.cases())

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        return (tuple(units),) if self.one_process else super().groups(units)

    def path_parts(self) -> tuple[str, ...]:
        values = ((name, getattr(self, name)) for name in self.folder_settings)
        parts = (value if isinstance(value, str) else f"{name}{value:g}" for name, value in values)
        return ("-".join(parts),)

    def metadata(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.columns or self.folder_settings}

    def run(self, unit: str, store: UnitStore) -> None:
        """Compute and save the tables of one unit."""
        try:
            tables = self.tables(self.cases()[unit])
        except ArithmeticError as error:
            raise UserError(
                f"experiment={self.label}: a number of {unit} is out of range ({error.args[-1]}); "
                "choose less extreme settings.",
                "experiment",
                "out_of_range",
            ) from None
        store.save(unit, {name: _rows(table) for name, table in tables.items()}, {})


def _rows(table: pd.DataFrame | Iterable[Any]) -> list[Mapping[str, Any]]:
    """Return the rows of a table as plain values, as JSON needs them."""
    if isinstance(table, pd.DataFrame):
        return [{str(k): v for k, v in row.items()} for row in table.to_dict("records")]
    return [row if isinstance(row, Mapping) else asdict(row) for row in table]
