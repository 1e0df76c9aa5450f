"""A Slurm job: the function it calls, its result, and the file that stores its number."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.experiment.base import Task
from bnnbench.experiment.engines.local import available_cores
from bnnbench.experiment.engines.payload import Payload, compute
from bnnbench.files import write_text
from bnnbench.types import UserError

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission


@dataclass(frozen=True)
class SlurmJob:
    """The function that a job calls.

    Attributes:
        payload: the task.
        tables: folder of the pickled tables.
    """

    payload: Payload
    tables: Path

    def __call__(self) -> str | None:
        """Compute the task and return the message of a `UserError`, if there is one."""
        tables = {name: (self.tables / name).read_bytes() for name in self.payload.tables}
        try:
            compute(self.payload, tables, available_cores())
        except UserError as error:
            return str(error)
        return None

    def checkpoint(self) -> DelayedSubmission:
        """Requeue a job that was preempted or ran out of time; it resumes from disk."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def job_file(task: Task) -> Path:
    """Return the file that stores the job of a task."""
    return task.runs[0].store.file(task.units[0], "slurm.json")


def save_job(task: Task, job: str) -> None:
    """Store the job of a task for the next command."""
    write_text(job_file(task), json.dumps({"job": job}) + "\n")


def saved_job(task: Task) -> str:
    """Return the job that a command submitted for this task; empty if there is none."""
    try:
        return str(json.loads(job_file(task).read_text())["job"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def job_result(folder: Path, job: str) -> tuple[str, Any] | None:
    """Return `("success", value)` or `("error", traceback)`; None if the job was killed."""
    array = job.partition("_")[0]
    try:
        return pickle.loads((folder / array / f"{job}_0_result.pkl").read_bytes())
    except FileNotFoundError:
        return None
