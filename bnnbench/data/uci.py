"""The UCI regression sets, with the 20 published splits (protein: 5) or with random ones."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import expanduser
from pathlib import Path
from typing import ClassVar

import numpy as np

from bnnbench.constraints import Checked, Seed, check_folder
from bnnbench.data import archive
from bnnbench.data.splits import NumberOfSplits, seeded_splits
from bnnbench.identity import no_identity
from bnnbench.types import Split, Table, UserError

TEST_FRACTION = 0.1  # as in the published splits


@dataclass(frozen=True)
class UCI(Checked):
    """A published set in `<directory>/<folder>/data/`, downloaded on first use.

    Attributes:
        name: a key of `archive.FOLDERS`.
        directory: the data folder, shared by all sets.
        features: column names in file order; empty means `column_<i>`.
        target: name of the target, with its unit.
        seeded_splits: number of random splits; None uses the published ones.
        split_seed: seed of the random splits, independent of the run's seed.
        base_url: the URL of the archive.
    """

    identity_name = "bnnbench.data.uci.UCI"
    name: str
    directory: str = no_identity("data")
    features: tuple[str, ...] = ()
    target: str = "target"
    seeded_splits: NumberOfSplits | None = None
    split_seed: Seed = 0
    base_url: str = no_identity(archive.BASE_URL)
    key: ClassVar[str] = "dataset"

    def check(self) -> None:
        archive.folder_of(self.name)
        check_folder("data_dir", self.directory)
        if not isinstance(self.features, tuple):
            raise UserError(
                f"dataset.features must be a list of names, not {self.features!r}.",
                setting="dataset.features",
            )

    def load(self) -> Table:
        """Load and verify the files.

        Raises:
            UserError: if a file is corrupt, or missing and cannot be downloaded, or if
                `features` does not name every input column.
        """
        contents = archive.read(self.name, Path(expanduser(self.directory)), self.base_url)
        data = _numbers(contents["data.txt"])
        columns = _whole_numbers(contents["index_features.txt"])
        (target,) = _whole_numbers(contents["index_target.txt"])
        return Table(
            name=self.name,
            inputs=data[:, columns],
            targets=data[:, target],
            splits=self._splits(contents, len(data)),
            features=self._names(columns),
            target=self.target,
        )

    def _splits(self, contents: dict[str, bytes], rows: int) -> tuple[Split, ...]:
        if self.seeded_splits is not None:
            return seeded_splits(rows, self.seeded_splits, TEST_FRACTION, self.split_seed)
        (n_splits,) = _whole_numbers(contents["n_splits.txt"])
        return tuple(
            Split(
                index,
                _whole_numbers(contents[f"index_train_{index}.txt"]),
                _whole_numbers(contents[f"index_test_{index}.txt"]),
            )
            for index in range(n_splits)
        )

    def _names(self, columns: np.ndarray) -> tuple[str, ...]:
        if not self.features:
            return tuple(f"column_{column}" for column in columns)
        if len(self.features) != len(columns):
            raise UserError(
                f"dataset.features must name the {len(columns)} input columns of {self.name}, "
                f"not {len(self.features)}.",
                setting="dataset.features",
                code="wrong_length",
            )
        return tuple(self.features)


def _numbers(content: bytes) -> np.ndarray:
    return np.loadtxt(content.splitlines())


def _whole_numbers(content: bytes) -> np.ndarray:
    # Some index files contain floats (1.0e+00), some a single number.
    return np.atleast_1d(_numbers(content)).astype(np.int64)
