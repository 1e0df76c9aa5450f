"""The contract of an experiment: a set of independent units of work, and what is kept of them.

To add one: a file with a frozen dataclass that derives from `Experiment`, a YAML in
`configs/experiment` whose `_target_` names it, and a page for its `kind`. Its fields are its
settings: one that has the name of a configuration group (`dataset`, `method`, `network`, ...) gets
what was chosen there, the others stand in its own YAML. It gets no group that it does not name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import identity_of, no_identity


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """What `bnnbench run experiment=NAME` does.

    Attributes:
        label: names the top folder of its runs.
        summary: one line for `bnnbench list`.
        kind: class attribute, of its runs in their records: tells what tables and page they have.
        unit_noun: class attribute, what a unit is called.
        step_noun: class attribute, what the steps of units are called.
    """

    label: str
    summary: str = no_identity("")
    kind: ClassVar[str]
    unit_noun: ClassVar[str] = "unit"
    step_noun: ClassVar[str] = "units"

    @classmethod
    def admit(cls, label: str, chosen: Mapping[str, type]) -> None:
        """Raises `UserError` if it has no use for a chosen class, before that is built.

        Args:
            label: of the experiment.
            chosen: the class of each group that names one.
        """
        return

    def resolved(self) -> Self:
        """The same with what hangs on its data decided, which may load them; ready to run."""
        return self

    def check(self) -> None:
        """Raises `UserError` if it cannot run as it is; asked once, before anything is written."""
        return

    @property
    @abstractmethod
    def title(self) -> str:
        """What progress calls it."""

    @abstractmethod
    def units(self) -> tuple[str, ...]:
        """The names of the units that were asked for, in order, fit for file names.

        What a unit comes to must not depend on which others were asked for but by rounding, nor
        on the number of workers at all.
        """

    @abstractmethod
    def place(self) -> tuple[str, ...]:
        """Names of the folders of its run below the label's; the last one gets the digest."""

    @abstractmethod
    def names(self) -> dict[str, Any]:
        """Columns that name its run in tables, beside `experiment`: plain values."""

    def remarks(self) -> tuple[str, ...]:
        """What the user should be told before it runs, a sentence each, without the stop."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Every setting that can change a number: all but those made by `no_identity`."""
        return dict(identity_of(self))

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """The units that advance together, stacked where that is faster; each alone by default."""
        return tuple((unit,) for unit in units)

    @property
    def lockstep(self) -> bool:
        """Whether a group may use all workers by itself, so that groups run one by one."""
        return False

    def stacks_with(self, other: Experiment) -> bool:
        """Whether runs of both may share a stack; `run_group` is then given both at once."""
        return False

    def stack_room(self, alike: int) -> int:
        """How many of so many alike runs share one stack."""
        return 1

    @classmethod
    def run_group(cls, members: Sequence[Member], units: Sequence[str], workers: int = 1) -> None:
        """Runs one group of units of each member, saving every unit as it is finished.

        Args:
            members: the runs, several only where they `stacks_with` each other.
            units: one of `groups` of each member.
            workers: cores that this call may use, where the experiment runs in lockstep.
        """
        for experiment, store in members:
            for unit in units:
                if not store.finished(unit):
                    experiment.run(unit, store)

    def run(self, unit: str, store: UnitStore) -> None:
        """Runs one unit and saves its rows and arrays; not asked where `run_group` is its own."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Loads what units will need, once for all workers that begin with it."""
        return

    def steps(self, unit: str, store: UnitStore) -> tuple[int, int]:
        """How many steps of a unit are done, and of how many: what a progress bar counts."""
        return int(store.finished(unit)), 1

    def share(self, unit: str, store: UnitStore) -> float:
        """How much of a unit's work is done, from 0 to 1: by steps, unless these differ in cost."""
        done, total = self.steps(unit, store)
        return done / total

    def plan(self) -> dict[str, str]:
        """What its settings come to, in words, for who asks before it runs; by default nothing."""
        return {}

    def memory(self) -> float:
        """Roughly the bytes that one of its processes needs beside what the program itself does."""
        return 0.0

    def cost(self, workers: int) -> float:
        """Roughly the seconds that its units take; for sharing out the time left, no more."""
        return float(len(self.units()))


class Member(NamedTuple):
    """A run of a stack: what is run, and where its units go."""

    experiment: Experiment
    store: UnitStore
