"""The interface of image sources, binarisation, and reading of their files.

Binarisation is part of the data's identity.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from bnnbench.constraints import Checked, OneOf, Seed
from bnnbench.files import READ_ERRORS, open_unpacked
from bnnbench.types import UserError

BINARISATIONS = ("threshold", "stochastic", "none")


@dataclass(frozen=True)
class GreyImages:
    """Images as they are stored.

    Attributes:
        train: grey values, `[N, D]`, whole numbers from 0 to `white`.
        test: the same for test images, `[M, D]`.
        train_labels: classes from 0 on, `[N]`.
        test_labels: `[M]`.
        shape: rows and columns of an image.
        white: the largest grey value.
    """

    train: np.ndarray
    test: np.ndarray
    train_labels: np.ndarray
    test_labels: np.ndarray
    shape: tuple[int, int]
    white: int = 255


@dataclass(frozen=True)
class ImageSet:
    """Images as a model sees them; the attributes are those of `GreyImages`.

    Attributes:
        train: pixels, 0 or 1, or in [0, 1] without binarisation, `[N, D]`, float32.
        test: `[M, D]`, float32.
        train_labels: `[N]`, int64.
        test_labels: `[M]`, int64.
        shape: rows and columns of an image.
    """

    train: np.ndarray
    test: np.ndarray
    train_labels: np.ndarray
    test_labels: np.ndarray
    shape: tuple[int, int]

    @property
    def pixels(self) -> int:
        """Number of pixels of an image, `D`."""
        return self.shape[0] * self.shape[1]

    @property
    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """Labels of training and test images."""
        return self.train_labels, self.test_labels

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.train_labels.max()) + 1


@dataclass(frozen=True, kw_only=True)
class ImageSource(Checked, ABC):
    """A set of images, the option of the group `images`.

    Attributes:
        name: the label used in paths and tables.
        binarisation: `threshold`: 1 from half of the largest grey value on, which is how the values
            128 of 255 and 8 of 16 become 1; `stochastic`: drawn once, with the grey value as the
            probability of 1 (Larochelle & Murray 2011); `none`: grey values in [0, 1].
        binarisation_seed: seed of the stochastic one.
    """

    name: str
    binarisation: Annotated[str, OneOf(*BINARISATIONS)] = "threshold"
    binarisation_seed: Seed = 0
    key: ClassVar[str] = "images"

    @abstractmethod
    def read(self) -> GreyImages:
        """Read the stored images.

        Raises:
            UserError: if a file is missing or damaged.
        """

    def load(self) -> ImageSet:
        """Read and binarise the images, like `read`."""
        grey = self.read()
        random = np.random.default_rng(self.binarisation_seed)
        train, test = (self._pixels(part, grey.white, random) for part in (grey.train, grey.test))
        train_labels, test_labels = (
            part.astype(np.int64) for part in (grey.train_labels, grey.test_labels)
        )
        return ImageSet(train, test, train_labels, test_labels, grey.shape)

    def _pixels(self, values: np.ndarray, white: int, random: np.random.Generator) -> np.ndarray:
        if self.binarisation == "threshold":
            return (2 * values.astype(np.int32) >= white).astype(np.float32)
        if self.binarisation == "stochastic":
            return (random.random(values.shape, np.float32) * white < values).astype(np.float32)
        return (values / np.float32(white)).astype(np.float32)


def damaged_file(name: str, path: Path, problem: str) -> UserError:
    """Return the error that a file of the set `name` has a problem."""
    return UserError(
        f"images={name}: {path} {problem}; replace it, or delete it to use another copy.",
        "images",
        "corrupt_file",
    )


def content_and_digest(name: str, path: Path) -> tuple[bytes, str]:
    """Return the decompressed content of a file of the set `name`, and its SHA-256.

    Raises:
        UserError: if it cannot be unpacked.
    """
    try:
        with open_unpacked(path) as file:
            content = file.read()
    except READ_ERRORS as error:
        raise damaged_file(name, path, f"cannot be unpacked ({error})") from None
    return content, hashlib.sha256(content).hexdigest()


@cache
def load_images(source: ImageSource) -> ImageSet:
    """Load images once per process."""
    return source.load()
