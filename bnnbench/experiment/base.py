"""The interface of an experiment: a set of independent units and the results they save.

To add one, write a frozen dataclass that derives from `Experiment`, a YAML file in
`configs/experiment` whose `_target_` names the class, and a page for its `kind`. Its fields are its
settings: a field named like a configuration group (`dataset`, `method`, `network`, ...) receives
the option chosen in that group; all others are set in its own YAML file.

`Experiment` is all that most of them need. `HasSteps` is for units that take long, `HasPlan` for
experiments that describe what they will do, `Stackable` for units that train faster together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch

from bnnbench.experiment.lock import lock_group
from bnnbench.experiment.run_folder import UnitStore
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


class HasSteps(Experiment):
    """An experiment that knows how far a unit is, for progress bars and the time left.

    Attributes:
        step_noun: class attribute, the plural word for the steps of a unit.
    """

    step_noun: ClassVar[str]

    @abstractmethod
    def count_steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """Return the finished and the total number of steps of a unit."""

    def progress(self, unit: str, store: UnitStore) -> float:
        """Return the finished fraction of a unit; override it where steps differ in cost."""
        done, total = self.count_steps(unit, store)
        return done / total

    @abstractmethod
    def cost(self, workers: int) -> float:
        """Estimate the seconds that all units take; used only to predict the time left."""

    def seconds_taken(self, unit: str, store: UnitStore) -> float | None:
        """Return the seconds that a finished unit took; None if they are unknown."""
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


class Stackable(Experiment):
    """An experiment whose units, or runs with other settings, train faster in one stack."""

    @property
    @abstractmethod
    def lockstep(self) -> bool:
        """Whether a group uses all workers, so that groups run one after the other."""

    @abstractmethod
    def can_stack_with(self, other: Experiment) -> bool:
        """Whether `run_group` can train runs of both experiments in one stack."""

    @abstractmethod
    def max_stack_size(self, n_runs: int) -> int:
        """Return how many of `n_runs` stackable runs share one stack."""

    @classmethod
    @abstractmethod
    def run_group(cls, members: Sequence[Member], units: Sequence[str], workers: int = 1) -> None:
        """Run one group of units of each member and save every unit when it is finished.

        Args:
            members: the runs; several only if they `can_stack_with` each other.
            units: one of `groups`, the same for each member.
            workers: cores that this call may use if the experiment runs in lockstep.
        """

    def prepare(self) -> None:
        """Load what all units need, before worker processes are forked."""
        return

    def run(self, unit: str, store: UnitStore) -> None:
        """Run one unit alone."""
        self.run_group([Member(self, store)], [unit])


class Member(NamedTuple):
    """A run of a stack: its experiment and the store of its units."""

    experiment: Experiment
    store: UnitStore

    @property
    def lockstep(self) -> bool:
        """Whether a group of its units uses all workers."""
        return isinstance(self.experiment, Stackable) and self.experiment.lockstep

    def steps(self, unit: str) -> tuple[int, int]:
        """Return the finished and the total number of steps of a unit."""
        if isinstance(self.experiment, HasSteps):
            return self.experiment.count_steps(unit, self.store)
        return int(self.store.finished(unit)), 1

    def progress(self, unit: str) -> float:
        """Return the finished fraction of a unit."""
        if isinstance(self.experiment, HasSteps):
            return self.experiment.progress(unit, self.store)
        return float(self.store.finished(unit))


@dataclass(frozen=True, eq=False)
class Task:
    """A group of units that are computed together.

    Attributes:
        runs: the runs that train in one stack.
        units: names of the units, the same for each run.
        key: identifies the task.
    """

    runs: tuple[Member, ...]
    units: tuple[str, ...]
    key: str

    @classmethod
    def for_stack(cls, runs: Sequence[Member], units: Sequence[str]) -> Task:
        """Make the task of a group of units for all runs of a stack."""
        return cls(tuple(runs), tuple(units), f"{runs[0].store.folder.root} {' '.join(units)}")

    def finished(self) -> bool:
        """Whether every unit was saved by every run."""
        return all(member.store.finished(unit) for member in self.runs for unit in self.units)

    def restricted_to(self, folders: Collection[Path]) -> Task:
        """Return the same task for only those runs that have these folders."""
        runs = tuple(member for member in self.runs if member.store.folder.root in folders)
        return replace(self, runs=runs)

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
        with lock_group([member.store for member in self.runs], self.units[0]):
            # Another process may have finished it in the meantime.
            if not self.finished():
                self.run_group(cores)

    def run_group(self, cores: int = 1) -> None:
        """Run the units of each run that are not finished, in one stack if possible."""
        first = self.runs[0].experiment
        if isinstance(first, Stackable):
            first.run_group(self.runs, self.units, cores)
            return
        for experiment, store in self.runs:
            for unit in self.units:
                if not store.finished(unit):
                    experiment.run(unit, store)
