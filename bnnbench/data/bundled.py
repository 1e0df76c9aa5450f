"""Data sets that come with installed packages: nine UCI regression sets, and diabetes.

The UCI sets are part of this package, with their published splits; scikit-learn bundles diabetes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Checked, OneOf, Seed
from bnnbench.data.splits import NumberOfSplits, TestFraction, published_splits, seeded_splits
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


@dataclass(frozen=True)
class Diabetes(Checked):
    """The diabetes progression study, `[442, 10]`, in original units (Efron et al., 2004).

    Attributes:
        name: the label used in paths and tables.
        n_splits: number of random train/test splits.
        test_fraction: fraction of the rows in each test part.
        split_seed: seed of the splits, independent of the run's seed.
    """

    identity_name = "bnnbench.data.bundled.Diabetes"
    name: str = "diabetes"
    n_splits: NumberOfSplits = 20
    test_fraction: TestFraction = 0.1
    split_seed: Seed = 0
    key: ClassVar[str] = "dataset"

    def load(self) -> Table:
        """Load the table from the installed scikit-learn."""
        from sklearn.datasets import load_diabetes

        bunch = load_diabetes(scaled=False)
        return Table(
            name=self.name,
            inputs=bunch.data.round(4),  # the last bits in the file of scikit-learn vary
            targets=bunch.target,
            splits=seeded_splits(
                len(bunch.target), self.n_splits, self.test_fraction, self.split_seed
            ),
            features=tuple(bunch.feature_names),
            target="disease progression after one year [score]",
        )
