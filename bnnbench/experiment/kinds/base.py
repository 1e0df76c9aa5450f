"""The interface of an experiment: a set of independent units and the results they save.

To add one, write a frozen dataclass that derives from `Experiment`, a YAML file in
`configs/experiment` whose `_target_` names the class, and a page for its `kind`. Its fields are its
settings: a field named like a configuration group (`dataset`, `method`, `network`, ...) receives
the option chosen in that group; all others are set in its own YAML file.

`Experiment` is all that most of them need. `HasSteps` is for units that take long, `HasPlan` for
experiments that describe what they will do, `HasGroups` for units that are computed together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch

from bnnbench.cpp.library import library
from bnnbench.experiment.store.lock import lock_group
from bnnbench.experiment.store.provenance import code_version_of
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.identity import identity_of


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """An experiment that `bnnbench run experiment=NAME` executes.

    Each defines `kind`, `title`, `units`, `path_parts`, `metadata` and `run`.

    Attributes:
        label: name of the top folder of its runs.
        kind: class attribute, stored in the record of each run; determines its tables and page.
        unit_noun: class attribute, the word for a unit.
    """

    label: str
    kind: ClassVar[str]
    unit_noun: ClassVar[str] = "unit"

    @property
    @abstractmethod
    def title(self) -> str:
        """Name shown in progress output."""

    @abstractmethod
    def units(self) -> tuple[str, ...]:
        """Return the names of the requested units, in order; they become file names.

        The results of a unit must not depend on the number of workers. Which other units were
        requested may change them by rounding only.
        """

    @abstractmethod
    def path_parts(self) -> tuple[str, ...]:
        """Return the folder names of a run below its label; the digest is appended to the last."""

    @abstractmethod
    def metadata(self) -> dict[str, Any]:
        """Return the columns that describe the run in tables, in addition to `experiment`."""

    @abstractmethod
    def run(self, unit: str, store: UnitStore) -> None:
        """Run one unit and save its rows and arrays."""

    @classmethod
    def validate_components(cls, label: str, chosen: Mapping[str, type]) -> None:
        """Raise `UserError` if a chosen class does not fit, before anything is instantiated.

        Args:
            label: of the experiment.
            chosen: the class chosen in each group.
        """
        return

    def resolved(self) -> Self:
        """Return the experiment ready to run: load the data and resolve what depends on them."""
        return self

    def check(self) -> None:
        """Raise `UserError` if it cannot run; called once, before anything is written."""
        return

    def identity(self) -> dict[str, Any]:
        """Return every setting that can change a result: all but `no_identity` fields."""
        return dict(identity_of(self))

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Group the units that one process computes together; by default each alone."""
        return tuple((unit,) for unit in units)

    def count_steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Return the finished and the total number of steps of a unit; by default it is one."""
        return int(store.finished(unit)), 1

    def progress(self, unit: str, store: UnitStore) -> float:
        """Return the finished fraction of a unit; override it where steps differ in cost."""
        done, total = self.count_steps(unit, store)
        return done / total


class HasSteps(Experiment):
    """An experiment that knows how far a unit is, for progress bars and the time left.

    Attributes:
        step_noun: class attribute, the plural word for the steps of a unit.
    """

    step_noun: ClassVar[str]

    @abstractmethod
    def count_steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Return the finished and the total number of steps of a unit."""

    @abstractmethod
    def cost(self, workers: int) -> float:
        """Estimate the seconds that all units take; used only to predict the time left."""

    def seconds_taken(self, unit: str, store: UnitStore) -> float | None:
        """Return the seconds that a finished unit would take on this machine; None if unknown."""
        return None


class HasPlan(Experiment):
    """An experiment that describes what it will do before it runs."""

    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """Return what the user should know before it runs: sentences without a full stop."""

    @abstractmethod
    def plan(self) -> dict[str, str]:
        """Return the plan that `--dry-run` prints: descriptions by topic."""

    @abstractmethod
    def memory(self) -> float:
        """Estimate the bytes that each process needs in addition to the program itself."""


class HasGroups(Experiment):
    """An experiment that computes a group of units together, as one stack or on all workers."""

    @property
    @abstractmethod
    def lockstep(self) -> bool:
        """Whether a group uses all workers, so that groups run one after the other."""

    @abstractmethod
    def run_group(self, units: Sequence[str], store: UnitStore, workers: int = 1) -> None:
        """Run one group of units and save every unit when it is finished.

        Args:
            units: one of `groups`.
            store: of the run.
            workers: cores that this call may use if the experiment runs in lockstep.
        """

    def prepare(self) -> None:
        """Load what all units need, before workers are forked and the first unit starts."""
        return

    def run(self, unit: str, store: UnitStore) -> None:
        """Run one unit alone."""
        self.run_group([unit], store)


def is_lockstep(experiment: Experiment) -> bool:
    """Whether a group of units uses all workers."""
    return isinstance(experiment, HasGroups) and experiment.lockstep


@dataclass(frozen=True, eq=False)
class Task:
    """A group of units of a run that are computed together.

    Attributes:
        experiment: of the run.
        store: of the run, with an absolute path.
        units: names of the units.
    """

    experiment: Experiment
    store: UnitStore
    units: tuple[str, ...]

    @property
    def key(self) -> str:
        """A string that identifies the task."""
        return f"{self.store.folder.root} {' '.join(self.units)}"

    def progress(self) -> float:
        """Return the sum of the finished fractions of its units."""
        return sum(self.experiment.progress(unit, self.store) for unit in self.units)

    def finished(self) -> bool:
        """Whether every unit is saved."""
        return all(self.store.finished(unit) for unit in self.units)

    def run(self, cores: int = 1) -> None:
        """Run it in this process, unless it is finished.

        Args:
            cores: that a lockstep experiment may use.

        Raises:
            UserError: if another process works on it and does not finish in time.
        """
        if self.finished():
            return
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)  # momenta of dead units decay into denormals: slow
        with lock_group(self.store, self.units[0]):
            # Another process may have finished it in the meantime.
            if not self.finished():
                self.run_group(cores)

    def run_group(self, cores: int = 1) -> None:
        """Run the units that are not finished, together if the experiment has groups."""
        code = code_version_of(self.experiment) | {"native": library().code is not None}
        for unit in self.units:
            if not self.store.finished(unit):
                self.store.discard_unknown(unit)
                self.store.add_code(unit, code)
        if isinstance(self.experiment, HasGroups):
            self.experiment.prepare()  # not part of the first unit's seconds
            self.experiment.run_group(self.units, self.store, cores)
            return
        for unit in self.units:
            if not self.store.finished(unit):
                self.experiment.run(unit, self.store)
