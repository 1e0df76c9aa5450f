"""The interfaces of an engine and of its settings.

To add an engine, write a frozen dataclass that derives from `EngineSettings`, and a YAML file in
`configs/engine` whose `_target_` names it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bnnbench.constraints import Checked
from bnnbench.experiment.engines.task import Task


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
class EngineSettings(Checked, ABC):
    """An option of the group `engine`.

    Attributes:
        name: of the option.
        remote: class attribute, whether other machines compute, whose hardware is unknown here.
    """

    name: str
    remote: ClassVar[bool] = False
    key: ClassVar[str] = "engine"

    @abstractmethod
    def create_engine(self, workers: int, outputs: Path) -> Engine:
        """Create the engine.

        Args:
            workers: processes on this machine.
            outputs: the folder of all runs.
        """
