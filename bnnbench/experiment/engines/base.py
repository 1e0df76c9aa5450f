"""The contract of an engine, and of the settings that name one.

To add one: a file with a frozen dataclass that derives from `EngineSettings`, and a YAML in
`configs/engine` whose `_target_` names it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bnnbench.experiment.engines.work import Work


class Engine(ABC):
    """Has groups of units computed somewhere.

    The truth is on disk and not in what an engine remembers: work is done when its scores are
    there, whoever wrote them.
    """

    @abstractmethod
    def start(self, works: Sequence[Work]) -> None:
        """Hands out what is not finished, or gets ready for it; called before threads begin.

        Args:
            works: of one run, or of all runs of a sweep at once.
        """

    def holds(self, works: Sequence[Work]) -> bool:
        """Whether it can finish this work, be it that it was handed out or that it can be still."""
        return True

    @abstractmethod
    def finish(self, works: Sequence[Work], meanwhile: Callable[[], object]) -> None:
        """Returns when all of it is on disk; the first error that comes is raised.

        Args:
            works: handed out before or not.
            meanwhile: what this process does, which would only wait.
        """

    @abstractmethod
    def stop(self) -> None:
        """Ends what it has going in this process; what is done stays done."""


def say(sentence: str) -> None:
    """Tells the user what becomes of work that other machines have."""
    print(f"bnnbench: {sentence}", file=sys.stderr)


@dataclass(frozen=True, kw_only=True)
class EngineSettings(ABC):
    """A choice of the group `engine`.

    Attributes:
        name: of the choice.
        remote: class attribute, whether other machines compute: nothing about them is known here.
    """

    name: str
    remote: ClassVar[bool] = False

    @abstractmethod
    def engine(self, workers: int, outputs: Path) -> Engine:
        """The engine itself.

        Args:
            workers: processes on this machine.
            outputs: the folder of all runs.
        """
