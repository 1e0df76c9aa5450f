"""The nine UCI regression sets, which are part of the package, with their published splits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Checked, OneOf, Seed
from bnnbench.data.splits import NumberOfSplits, published_splits, seeded_splits
from bnnbench.files import open_unpacked, shipped_folder
from bnnbench.types import Table, UserError

TEST_FRACTION = 0.1  # as in the published splits

N_SPLITS = {
    **dict.fromkeys(("boston", "concrete", "energy", "kin8nm", "naval", "power"), 20),
    **{"protein": 5, "wine": 20, "yacht": 20},
}
"""Number of published splits of each set."""


@dataclass(frozen=True)
class UCI(Checked):
    """A set of `data/uci`, whose README states its source, licence and known flaws.

    Attributes:
        name: a key of `N_SPLITS`.
        features: names of the inputs, in the order of the columns.
        target: name of the target, the last column, with its unit.
        seeded_splits: number of random splits; None uses the published ones.
        split_seed: seed of the random splits, independent of the run's seed.
    """

    identity_name = "bnnbench.data.uci.UCI"
    name: Annotated[str, OneOf(*N_SPLITS)]
    features: tuple[str, ...]
    target: str
    seeded_splits: NumberOfSplits | None = None
    split_seed: Seed = 0
    key: ClassVar[str] = "dataset"

    def check(self) -> None:
        if not isinstance(self.features, tuple):
            raise UserError(
                f"dataset.features must be a list of names, not {self.features!r}.",
                setting="dataset.features",
            )

    def load(self) -> Table:
        """Load the table.

        Raises:
            UserError: if `features` does not name every input column.
        """
        table = read_table(self.name)
        rows, columns = table.inputs.shape
        if len(self.features) != columns:
            raise UserError(
                f"dataset.features must name the {columns} input columns of {self.name}, not "
                f"{len(self.features)}.",
                setting="dataset.features",
                code="wrong_length",
            )
        table = replace(table, features=self.features, target=self.target)
        if self.seeded_splits is None:
            return table
        splits = seeded_splits(rows, self.seeded_splits, TEST_FRACTION, self.split_seed)
        return replace(table, splits=splits)


def read_table(name: str) -> Table:
    """Return a set with its published splits; its columns have no names."""
    with open_unpacked(shipped_folder("data/uci") / f"{name}.txt.gz") as file:
        rows = np.loadtxt(file)
    splits = published_splits(len(rows), N_SPLITS[name])
    return Table(name, rows[:, :-1], rows[:, -1], splits, (), "target")
