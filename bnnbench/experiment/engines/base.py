"""The interfaces of an engine and of its settings, and what engines on other machines share.

To add an engine, write a frozen dataclass that derives from `EngineSettings`, and a YAML file in
`configs/engine` whose `_target_` names it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bnnbench.constraints import Checked
from bnnbench.experiment.kinds.base import Task
from bnnbench.types import UserError


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
    def close(self) -> None:
        """Stop working in this process; saved units are kept."""


@dataclass(frozen=True, kw_only=True)
class EngineSettings(Checked, ABC):
    """An option of the group `engine`.

    Attributes:
        name: of the option.
        remote: class attribute, whether other machines compute, whose hardware is unknown here.
    """

    name: str
    remote: ClassVar[bool] = False
    key: ClassVar[str] = "engine"

    @property
    def device(self) -> str:
        """The device of the machines of a remote engine, unless the user chooses another."""
        return "cpu"

    @abstractmethod
    def create_engine(self, workers: int, outputs: Path) -> Engine:
        """Create the engine.

        Args:
            workers: processes on this machine.
            outputs: the folder of all runs.
        """


FILE_SYSTEM_DELAY = 90.0
"""Seconds until a shared folder shows the files written by another machine (NFS caches)."""

FILE_INTERVAL = 0.5  # seconds between looks for these files


def appears_on_disk(task: Task) -> bool:
    """Wait for the files of a task that another machine has finished; return whether they came."""
    until = time.monotonic() + FILE_SYSTEM_DELAY
    while not task.finished() and time.monotonic() < until:
        time.sleep(FILE_INTERVAL)
    return task.finished()


MAX_LOSSES_IN_A_ROW = 3
"""Maximum number of losses without a new evaluation on disk in between."""


class LostTaskCounter:
    """Counts how often each task was lost, and the progress it had made."""

    def __init__(self) -> None:
        self._lost: dict[str, tuple[int, float]] = {}

    def add(self, task: Task, hint: str) -> None:
        """Count the loss of a task.

        Args:
            task: the lost task.
            hint: where to look for the cause.

        Raises:
            UserError: if it was lost too often without progress.
        """
        losses, before = self._lost.get(task.key, (0, -1.0))
        now = task.progress()
        losses = 1 if now > before else losses + 1
        self._lost[task.key] = (losses, now)
        if losses > MAX_LOSSES_IN_A_ROW:
            folder = task.store.folder.root
            raise UserError(
                f"the worker of {', '.join(task.units)} in {folder} died {losses} times without "
                f"progress, perhaps because it ran out of memory; {hint}.",
                code="task_lost",
            )
