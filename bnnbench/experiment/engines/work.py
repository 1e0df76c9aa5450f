"""What engines hand out: a group of units, of all runs that train together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from bnnbench.experiment.base import Member
from bnnbench.experiment.lease import beating
from bnnbench.experiment.run_lock import working


@dataclass(frozen=True, eq=False)
class Work:
    """A group of units that advance together.

    Attributes:
        row: the runs that train together.
        group: the names of the units, of each of these runs.
        key: tells it from all other work.
    """

    row: tuple[Member, ...]
    group: tuple[str, ...]
    key: str

    @classmethod
    def on(cls, row: Sequence[Member], group: Sequence[str]) -> Work:
        """A group of a whole stack."""
        return cls(tuple(row), tuple(group), f"{row[0].store.folder.root} {' '.join(group)}")

    def finished(self) -> bool:
        """Whether every unit was saved by every run."""
        return all(member.store.finished(unit) for member in self.row for unit in self.group)

    def of(self, folders: Collection[Path]) -> Work:
        """The same work, of those runs alone whose folders are given."""
        row = tuple(member for member in self.row if member.store.folder.root in folders)
        return replace(self, row=row)

    def run(self, cores: int = 1) -> None:
        """Does it in this process, unless it is done.

        Args:
            cores: that a lockstep experiment may use.

        Raises:
            UserError: if another process works on it and does not end.
        """
        if self.finished():
            return
        torch.set_num_threads(1)
        torch.set_flush_denormal(True)  # momenta of dead units decay into denormals: slow
        with beating(), working([member.store for member in self.row], self.group[0]):
            # Perhaps another process did it while this one waited.
            if not self.finished():
                type(self.row[0].experiment).run_group(self.row, self.group, cores)
