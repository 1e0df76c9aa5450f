"""Base class of experiments that train models of images in several settings.

A unit is one setting of a model with all its repetitions, which are replicas of one stack.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar

from bnnbench.constraints import Whole, check_settings
from bnnbench.data.images.base import ImageSource, load_images
from bnnbench.experiment.kinds.resumable_stack import StackExperiment, StackT
from bnnbench.layers import Chain

PRODUCT_SECONDS = 1.1e-10
"""Seconds of a training step per column and weight of a replica: 0.6e-10 to 1e-10 for networks of
0.3 to 1.2 million weights on MNIST, twice as many on a busy core."""

FORWARD = 1 / 3
"""Part of a training step that is the forward pass."""


@dataclass(frozen=True, kw_only=True)
class ImageExperiment(StackExperiment[StackT]):
    """Trains models of images; each unit is a setting with all repetitions.

    Attributes:
        images: the images.
        repetitions: number of networks of each setting, with their own weights and minibatches.
        columns: class attribute, the settings that are columns of tables over many runs.
    """

    images: ImageSource
    repetitions: Annotated[int, Whole(1, 1000)]
    unit_noun: ClassVar[str] = "setting"
    columns: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Raise `UserError` for invalid settings and missing images."""
        check_settings(self, "experiment", ("seed",))
        load_images(self.images)

    @property
    def title(self) -> str:
        return f"{self.kind.replace('_', ' ')}, {self.images.name}"

    def metadata(self) -> dict[str, Any]:
        source = {"images": self.images.name, "binarisation": self.images.binarisation}
        names = (*self.columns, "repetitions", "seed")
        return {**source, **{name: getattr(self, name) for name in names}}

    def path_parts(self) -> tuple[str, ...]:
        return (f"{self.images.name}-{self.images.binarisation}-seed{self.seed}",)

    @cached_property
    @abstractmethod
    def settings(self) -> Mapping[str, Any]:
        """The setting of each unit."""

    @abstractmethod
    def work(self, unit: str) -> float:
        """Return the columns of all training steps of a replica times the weights of each.

        A forward pass without derivatives counts as `FORWARD` of a step.
        """

    def unit_seconds(self, unit: str) -> float:
        return PRODUCT_SECONDS * self.work(unit) * self.repetitions

    def units(self) -> tuple[str, ...]:
        return tuple(self.settings)

    def prepare(self) -> None:
        """Load the images before worker processes are forked."""
        load_images(self.images)


def count_weights(chains: Iterable[Chain]) -> int:
    """Return the number of weights of layers of these sizes, without biases."""
    return sum(a * b for chain in chains for a, b in pairwise(chain))
