"""The task of an engine: a group of units, for all runs of a stack."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from bnnbench.experiment.base import Member
from bnnbench.experiment.lock import heartbeat
from bnnbench.experiment.run_lock import lock_group


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
                type(self.runs[0].experiment).run_group(self.runs, self.units, cores)
