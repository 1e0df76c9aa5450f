"""The interfaces of an engine, of its settings and of its tasks.

To add an engine, write a frozen dataclass that derives from `EngineSettings`, and a YAML file in
`configs/engine` whose `_target_` names it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import torch

from bnnbench.experiment.base import Member, run_group
from bnnbench.experiment.lock import heartbeat, lock_group


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
        with heartbeat(), lock_group([member.store for member in self.runs], self.units[0]):
            # Another process may have finished it in the meantime.
            if not self.finished():
                run_group(self.runs, self.units, cores)


class Engine(ABC):
    """Computes tasks.

    Results on disk are authoritative: a task is finished when its units are saved, whichever
    process saved them.
    """

    @abstractmethod
    def start(self, tasks: Sequence[Task]) -> None:
        """Submit unfinished tasks, or prepare for them; called before threads start.

        Args:
            tasks: of one run, or of all runs of a sweep.
        """

    def can_run(self, tasks: Sequence[Task]) -> bool:
        """Whether `finish` accepts these tasks."""
        return True

    @abstractmethod
    def finish(self, tasks: Sequence[Task], while_waiting: Callable[[], object]) -> None:
        """Wait until all tasks are on disk; raise the first error.

        Args:
            tasks: submitted before or not.
            while_waiting: called once in this process, which would otherwise be idle.
        """

    @abstractmethod
    def stop(self) -> None:
        """Stop working in this process; saved units are kept."""


def notify(message: str) -> None:
    """Print a message about tasks on other machines."""
    print(f"bnnbench: {message}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class EngineSettings(ABC):
    """An option of the group `engine`.

    Attributes:
        name: of the option.
        remote: class attribute, whether other machines compute, whose hardware is unknown here.
    """

    name: str
    remote: ClassVar[bool] = False

    @abstractmethod
    def create_engine(self, workers: int, outputs: Path) -> Engine:
        """Create the engine.

        Args:
            workers: processes on this machine.
            outputs: the folder of all runs.
        """
