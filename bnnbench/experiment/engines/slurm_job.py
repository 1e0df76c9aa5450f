"""A job of Slurm: what it does, what it leaves, and how the next command finds it again."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.experiment.engines.parcel import Parcel, compute
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.workers import cores
from bnnbench.files import write_text
from bnnbench.types import UserError

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission


@dataclass(frozen=True)
class SlurmTask:
    """What a job does.

    Attributes:
        parcel: the work.
        tables: the folder of the tables that parcels name.
    """

    parcel: Parcel
    tables: Path

    def __call__(self) -> str | None:
        """Does the work; what is refused is returned as its sentence."""
        tables = {name: (self.tables / name).read_bytes() for name in self.parcel.tables}
        try:
            compute(self.parcel, tables, cores())
        except UserError as error:
            return str(error)
        return None

    def checkpoint(self) -> DelayedSubmission:
        """What a job that is preempted, or out of time, is queued again as: all is on disk."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def note_of(work: Work) -> Path:
    """Where it is noted which job has some work."""
    return work.row[0].store.file(work.group[0], "slurm.json")


def note(work: Work, job: str) -> None:
    """Leaves word of the job for the next command."""
    write_text(note_of(work), json.dumps({"job": job}) + "\n")


def noted(work: Work) -> str:
    """The job that some command submitted for this work; empty where none did."""
    try:
        return str(json.loads(note_of(work).read_text())["job"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def result(folder: Path, job: str) -> tuple[str, Any] | None:
    """What a job has left: `success` or `error`, and with what; None where it was killed."""
    array = job.partition("_")[0]
    try:
        return pickle.loads((folder / array / f"{job}_0_result.pkl").read_bytes())
    except FileNotFoundError:
        return None
