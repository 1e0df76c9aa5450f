"""A data set that is bundled with scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bnnbench.constraints import Checked, Seed
from bnnbench.data.splits import NumberOfSplits, TestFraction, seeded_splits
from bnnbench.types import Table


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
