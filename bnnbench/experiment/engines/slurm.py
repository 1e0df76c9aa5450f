"""The Slurm engine: submits job arrays with submitit, one array element per task."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from bnnbench.constraints import Count, Whole
from bnnbench.experiment.engines.base import (
    Engine,
    EngineSettings,
    LostTaskCounter,
    appears_on_disk,
)
from bnnbench.experiment.engines.payload import Payload, PayloadCache, compute, pack
from bnnbench.experiment.kinds.base import Task
from bnnbench.files import (
    READ_ERRORS,
    RefusedFile,
    is_private,
    read_text,
    remove,
    write_bytes,
    write_text,
)
from bnnbench.notes import note
from bnnbench.system import available_cores
from bnnbench.types import UserError

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission


@dataclass(frozen=True)
class SlurmJob:
    """The function that a job calls.

    Attributes:
        payload: the task.
        tables: folder of the pickled tables.
        outcome: file to which the job writes how it ended.
    """

    payload: Payload
    tables: Path
    outcome: Path

    def __call__(self) -> None:
        """Compute the task, and write how it ended as JSON: a pickle could execute code."""
        try:
            tables = {name: (self.tables / name).read_bytes() for name in self.payload.tables}
            compute(self.payload, tables, available_cores())
        except UserError as error:
            self._write({"message": str(error)})
            raise
        except Exception:
            self._write({"traceback": traceback.format_exc()})
            raise
        self._write({})

    def checkpoint(self) -> DelayedSubmission:
        """Requeue a job that was preempted or ran out of time; it resumes from disk."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def _write(self, outcome: Mapping[str, str]) -> None:
        write_text(self.outcome, json.dumps(outcome) + "\n")


def job_file(task: Task) -> Path:
    """Return the file that stores the job of a task."""
    return task.store.file(task.units[0], "slurm.json")


def outcome_file(task: Task) -> Path:
    """Return the file in which the job of a task stores how it ended."""
    return task.store.file(task.units[0], "slurm_outcome.json")


def save_job(task: Task, job: str) -> None:
    """Store the job of a task for the next command."""
    write_text(job_file(task), json.dumps({"job": job}) + "\n")


def saved_job(task: Task) -> str:
    """Return the job that a command submitted for this task; empty if there is none."""
    return _read(job_file(task)).get("job", "")


def _read(file: Path) -> dict[str, str]:
    """Return the strings in a JSON file; none if it is missing or damaged."""
    try:
        read = json.loads(read_text(file)).items()
    except (RefusedFile, *READ_ERRORS):
        return {}
    return {key: value for key, value in read if isinstance(value, str)}


def create_private_folder(folder: Path) -> Path:
    """Create a new folder for the pickles of one command, which execute code when they are loaded.

    Its name cannot be guessed: received outputs may contain pickles under any other name.

    Args:
        folder: in which it is created.

    Raises:
        UserError: if another user can write to `folder`.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_symlink() or not is_private(folder):
        raise UserError(
            f"engine=slurm: other users can write to {folder}, whose files run code; delete the "
            "folder, or choose another outputs_dir.",
            "outputs_dir",
            "not_private",
        )
    return Path(tempfile.mkdtemp(prefix="submitted-", dir=folder))


POLL_INTERVAL = 2.0  # seconds between looks at the folder
QUEUE_INTERVAL = 10.0  # seconds between calls of squeue, which loads the scheduler
SIGNAL_SECONDS = 90  # seconds between the signal to a job and its end
MAX_ARRAY_SIZE = 1000  # Slurm's default limit
MAX_TIMEOUTS = 1000  # of one job, which is requeued after each


@dataclass(frozen=True, kw_only=True)
class Slurm(EngineSettings):
    """A Slurm cluster whose nodes see the outputs folder.

    Attributes:
        partition: of the cluster; None for its default.
        minutes: time limit of a job, after which it is requeued.
        cpus: of a job.
        gpus: of a job.
        memory: of a job, in GB.
        max_jobs: maximum number of jobs that run at the same time.
        sbatch_options: further options of `sbatch`, by their long names.
    """

    partition: str | None = None
    minutes: Count = 240
    cpus: Count = 1
    gpus: Annotated[int, Whole(0)] = 0
    memory: Count = 4
    max_jobs: Count = 1000
    sbatch_options: Mapping[str, Any] | None = None
    remote: ClassVar[bool] = True

    @property
    def device(self) -> str:
        """CUDA if a job has a GPU."""
        return "cuda" if self.gpus else "cpu"

    def check(self) -> None:
        if find_spec("submitit") is None:
            raise UserError("engine=slurm needs submitit: `pip install submitit`.", "engine")
        if shutil.which("sbatch") is None:
            raise UserError(
                "engine=slurm needs the command sbatch; use a login node of the cluster.",
                "engine",
                "no_sbatch",
            )

    def create_engine(self, workers: int, outputs: Path) -> Engine:
        """Create the engine."""
        return SlurmEngine(self, outputs)


class SlurmEngine(Engine):
    """Submits tasks as payloads, and stores their jobs next to the units for later commands."""

    def __init__(self, settings: Slurm, outputs: Path) -> None:
        self._settings, self._all_folders = settings, outputs.absolute() / ".slurm"
        self._cache, self._lost_tasks = PayloadCache(), LostTaskCounter()
        self._jobs: dict[str, str] = {}
        self._queued: set[str] = set()
        self._queue_time = 0.0
        self._tasks: dict[str, Task] = {}

    @cached_property
    def _folder(self) -> Path:
        """The folder of what this command submits."""
        return create_private_folder(self._all_folders)

    def start(self, tasks: Sequence[Task]) -> None:
        """Submit the tasks that are neither finished nor queued, in as few arrays as possible."""
        new = {task.key: task for task in tasks if task.key not in self._jobs}
        unfinished = [task for task in new.values() if not task.finished()]
        self._update_queue(force=bool(unfinished))
        unqueued = []
        for task in unfinished:
            self._tasks[task.key], job = task, saved_job(task)
            if job in self._queued:
                self._jobs[task.key] = job
            else:
                unqueued.append(task)
        self._submit(unqueued)

    def finish(self, tasks: Sequence[Task], while_waiting: Callable[[], object]) -> None:
        """Wait until all tasks are on disk."""
        self.start(tasks)
        while_waiting()
        while left := [task for task in tasks if not task.finished()]:
            self._update_queue()
            ended = [task for task in left if self._jobs.get(task.key) not in self._queued]
            lost = [task for task in ended if not self._is_on_disk(task)]
            for task in lost:
                self._lost_tasks.add(task, f"see the logs in {self._all_folders}")
            self._submit([self._tasks.get(task.key, task) for task in lost])
            time.sleep(POLL_INTERVAL)

    def close(self) -> None:
        """Leave all jobs in the queue and report them."""
        unfinished = {
            key: job for key, job in self._jobs.items() if not self._tasks[key].finished()
        }
        arrays = sorted({job.partition("_")[0] for job in unfinished.values()})
        if arrays:
            note(
                f"{len(unfinished)} groups of units stay in the Slurm queue; repeat the command to "
                f"wait for them, or cancel them with scancel {' '.join(arrays)}"
            )

    def _submit(self, tasks: Sequence[Task]) -> None:
        for start in range(0, len(tasks), MAX_ARRAY_SIZE):
            batch = tasks[start : start + MAX_ARRAY_SIZE]
            for task in batch:
                remove(job_file(task))
                remove(outcome_file(task))
            jobs = self._submit_array([self._job(task) for task in batch])
            for task, job in zip(batch, jobs, strict=True):
                self._jobs[task.key], self._tasks[task.key] = job.job_id, task
                self._queued.add(job.job_id)
                save_job(task, job.job_id)
            self._queue_time = time.monotonic()

    def _submit_array(self, jobs: Sequence[SlurmJob]) -> list[Any]:
        """Submit one array and return its jobs.

        Raises:
            UserError: if Slurm rejects it.
        """
        from submitit.core.utils import FailedJobError

        executor = self._executor()
        try:
            with executor.batch():
                return [executor.submit(job) for job in jobs]
        except FailedJobError as error:
            raise UserError(
                f"engine=slurm: sbatch rejected the jobs: {_last_line(str(error))}.",
                "engine",
                "rejected",
            ) from None

    def _executor(self) -> Any:
        import submitit

        settings = self._settings
        executor = submitit.AutoExecutor(
            folder=self._folder / "%A", cluster="slurm", slurm_max_num_timeout=MAX_TIMEOUTS
        )
        executor.update_parameters(
            name="bnnbench",
            timeout_min=settings.minutes,
            slurm_signal_delay_s=min(SIGNAL_SECONDS, 15 * settings.minutes),
            cpus_per_task=settings.cpus,
            mem_gb=settings.memory,
            slurm_array_parallelism=settings.max_jobs,
            slurm_additional_parameters={"requeue": True, **(settings.sbatch_options or {})},
            **({"slurm_partition": settings.partition} if settings.partition else {}),
            **({"gpus_per_node": settings.gpus} if settings.gpus else {}),
        )
        return executor

    def _job(self, task: Task) -> SlurmJob:
        payload = pack(task, self._cache, shared=True)
        for name in payload.tables:
            path = self._folder / "tables" / name
            if not path.exists():
                write_bytes(path, self._cache.pickled(name))
        return SlurmJob(payload, self._folder / "tables", outcome_file(task))

    def _update_queue(self, force: bool = False) -> None:
        """Ask Slurm for the queued jobs of this user.

        Args:
            force: ask even if the last answer is recent, and require an answer.

        Raises:
            UserError: if there must be an answer and there is none.
        """
        if not force and time.monotonic() - self._queue_time < QUEUE_INTERVAL:
            return
        command = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            self._queued = set(done.stdout.split())
            self._queue_time = time.monotonic()
        elif force:
            raise UserError(
                f"engine=slurm: squeue failed: {_last_line(done.stderr)}.", "engine", "no_answer"
            )

    def _is_on_disk(self, task: Task) -> bool:
        """Whether the results of a job that has ended are on disk, perhaps after a short delay.

        Raises:
            UserError: raised on the machine of the job.
            RuntimeError: with the traceback of any other error of the job.
        """
        if not outcome_file(task).exists():  # the job was killed
            return task.finished()
        outcome = _read(outcome_file(task))
        if "traceback" in outcome:
            job = self._jobs.get(task.key)
            raise RuntimeError(f"job {job} ended with an error:\n{outcome['traceback']}")
        if "message" in outcome:
            raise UserError(outcome["message"])
        return appears_on_disk(task)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].rstrip(".") if lines else "no error message"
