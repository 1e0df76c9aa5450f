"""Base class of experiments that train models of images in several settings.

A unit is one setting of a model with all its repetitions, which are replicas of one stack. On a GPU
all settings that can be stacked form one stack. States are saved for each unit during training.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Annotated, Any, ClassVar

from bnnbench.constraints import Whole, check_settings
from bnnbench.data.images.base import ImageSource, load_images
from bnnbench.experiment import state_file
from bnnbench.experiment.base import HasGroups, HasSteps
from bnnbench.experiment.run_folder import UnitStore


@dataclass(frozen=True, kw_only=True)
class ImageExperiment(HasGroups, HasSteps):
    """Trains models of images; each unit is a setting with all repetitions.

    Attributes:
        images: the images.
        repetitions: number of networks of each setting, with their own weights and minibatches.
        seed: seed of all random numbers.
        device: `cpu` or `cuda`.
        columns: class attribute, the settings that are columns of tables over many runs.
    """

    images: ImageSource
    repetitions: Annotated[int, Whole(2, 1000)]
    seed: Annotated[int, Whole(0)]
    device: str
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
    def stack_key(self, unit: str) -> Hashable:
        """Return a key that is equal for units that can form one stack."""

    @abstractmethod
    def run_stack(self, units: Sequence[str], store: UnitStore) -> None:
        """Train units in one stack, all saved after the same step, and save their results."""

    def units(self) -> tuple[str, ...]:
        return tuple(self.settings)

    @property
    def lockstep(self) -> bool:
        """Whether units form stacks, as they do on a GPU."""
        return self.device == "cuda"

    def prepare(self) -> None:
        """Load the images before worker processes are forked."""
        load_images(self.images)

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Group all units that can be stacked on a GPU, and none on a CPU."""
        if not self.lockstep:
            return tuple((unit,) for unit in units)
        groups: dict[Hashable, list[str]] = {}
        for unit in units:
            groups.setdefault(self.stack_key(unit), []).append(unit)
        return tuple(map(tuple, groups.values()))

    def run_group(self, units: Sequence[str], store: UnitStore, workers: int = 1) -> None:
        """Train the units in as few stacks as their saved states allow."""
        saved = {unit: saved_step(store, unit) for unit in units if not store.finished(unit)}
        # A run that is killed between two writes leaves states of different steps.
        for _, group in groupby(sorted(saved, key=saved.__getitem__), key=saved.__getitem__):
            self.run_stack(list(group), store)


def saved_step(store: UnitStore, unit: str) -> int:
    """Return the last step whose state was saved, or -1."""
    return state_file.iteration(store.file(unit, state_file.SUFFIX))


def read_states(store: UnitStore, units: Sequence[str]) -> tuple[int, list[Any]]:
    """Return the step after which units were saved and the states of all their replicas.

    Returns:
        -1 and no states if a file is missing or damaged.
    """
    states = [state_file.read(store.file(unit, state_file.SUFFIX)) for unit in units]
    complete = [state for state in states if state]
    if not complete or len(complete) < len(states):
        return -1, []
    return int(complete[0]["iteration"]), [own for s in complete for own in s["replicas"]]


def write_states(
    store: UnitStore, units: Sequence[str], step: int, replicas: Sequence[Mapping[str, Any]]
) -> None:
    """Save the states of all replicas, equally many per unit, after a step."""
    count = len(replicas) // len(units)
    for position, unit in enumerate(units):
        own = list(replicas[position * count : (position + 1) * count])
        state = {"iteration": step, "replicas": own}
        state_file.write(store.file(unit, state_file.SUFFIX), state)


def remove_state(store: UnitStore, unit: str) -> None:
    """Remove the state of a unit, if there is one."""
    store.file(unit, state_file.SUFFIX).unlink(missing_ok=True)
