"""Jobs of a Slurm cluster, by submitit: a task of an array per group, and no daemon of ours."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

from bnnbench.checks import check_int
from bnnbench.experiment.engines.attempts import Attempts
from bnnbench.experiment.engines.base import Engine, EngineSettings, say
from bnnbench.experiment.engines.parcel import Sender, packed
from bnnbench.experiment.engines.slurm_job import SlurmTask, note, noted, result
from bnnbench.experiment.engines.work import Work
from bnnbench.files import write_atomically
from bnnbench.types import UserError

POLL = 2.0  # seconds between looks at the folder
ASKED = 10.0  # seconds between questions to Slurm, which others ask too
SEEN_WITHIN = 90.0  # seconds after which a common folder shows what a job wrote (NFS caches)
WARNED = 90  # seconds that a job has between its signal and its end

ARRAY = 1000
"""Tasks of an array: Slurm's own limit, unless it is set otherwise."""

TIMEOUTS = 1000  # of one job, each of which is queued again


@dataclass(frozen=True, kw_only=True)
class Slurm(EngineSettings):
    """The cluster that `sbatch` submits to; its nodes see the outputs folder.

    Attributes:
        partition: of the cluster; its default if not given.
        minutes: that a job may take before it is queued again.
        cpus: of a job.
        gpus: of a job.
        memory: of a job, in GB.
        at_once: jobs that run at once, at most.
        more: further options of `sbatch`, by their long names.
    """

    partition: str | None = None
    minutes: int = 240
    cpus: int = 1
    gpus: int = 0
    memory: int = 4
    at_once: int = 1000
    more: Mapping[str, Any] | None = None
    remote: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("minutes", "cpus", "memory", "at_once"):
            check_int(f"engine.{name}", getattr(self, name))
        check_int("engine.gpus", self.gpus, least=0)
        if find_spec("submitit") is None:
            raise UserError("engine=slurm needs submitit: install bnnbench[slurm].")
        if shutil.which("sbatch") is None:
            raise UserError("engine=slurm needs sbatch: use a machine that submits to Slurm.")

    def engine(self, workers: int, outputs: Path) -> Engine:
        """Ready to submit."""
        return SlurmEngine(self, outputs)


class SlurmEngine(Engine):
    """Submits parcels; what is noted beside the units is found again by the next command."""

    def __init__(self, settings: Slurm, outputs: Path) -> None:
        """Asks nothing yet."""
        self._settings, self._folder = settings, outputs.absolute() / ".slurm"
        self._sender, self._attempts = Sender(), Attempts()
        self._jobs: dict[str, str] = {}
        self._queued: set[str] = set()
        self._asked = 0.0
        self._works: dict[str, Work] = {}

    def start(self, works: Sequence[Work]) -> None:
        """Submits what is neither finished nor in the queue, as few arrays."""
        new = {work.key: work for work in works if work.key not in self._jobs}
        open_ = [work for work in new.values() if not work.finished()]
        self._ask(force=bool(open_))
        lost = []
        for work in open_:
            self._works[work.key], job = work, noted(work)
            if job in self._queued:
                self._jobs[work.key] = job
            else:
                lost.append(work)
        self._submit(lost)

    def finish(self, works: Sequence[Work], meanwhile: Callable[[], object]) -> None:
        """Waits until all of it is on disk."""
        self.start(works)
        meanwhile()
        while left := [work for work in works if not work.finished()]:
            self._ask()
            gone = [work for work in left if self._jobs.get(work.key) not in self._queued]
            again = [work for work in gone if not self._came(work)]
            for work in again:
                self._attempts.check(work, f"the logs are in {self._folder}")
            self._submit([self._works.get(work.key, work) for work in again])
            time.sleep(POLL)

    def stop(self) -> None:
        """Leaves the queue as it is, and says what is in it."""
        open_ = {key: job for key, job in self._jobs.items() if not self._works[key].finished()}
        arrays = sorted({job.partition("_")[0] for job in open_.values()})
        if arrays:
            say(
                f"{len(open_)} groups of units are left to Slurm; the same command goes on with "
                f"them, and scancel {' '.join(arrays)} cancels them"
            )

    def _submit(self, works: Sequence[Work]) -> None:
        for some in _by(works, ARRAY):
            tasks = [self._task(work) for work in some]
            jobs = self._submitted(tasks)
            for work, job in zip(some, jobs, strict=True):
                self._jobs[work.key], self._works[work.key] = job.job_id, work
                self._queued.add(job.job_id)
                note(work, job.job_id)
            self._asked = time.monotonic()

    def _submitted(self, tasks: Sequence[SlurmTask]) -> list[Any]:
        """The jobs of one array.

        Raises:
            UserError: if Slurm refuses it.
        """
        from submitit.core.utils import FailedJobError

        executor = self._executor()
        try:
            with executor.batch():
                return [executor.submit(task) for task in tasks]
        except FailedJobError as error:
            raise UserError(
                f"engine=slurm: sbatch refuses the jobs: {_last_line(str(error))}."
            ) from None

    def _executor(self) -> Any:
        import submitit

        chosen = self._settings
        executor = submitit.AutoExecutor(
            folder=self._folder / "%A", cluster="slurm", slurm_max_num_timeout=TIMEOUTS
        )
        executor.update_parameters(
            name="bnnbench",
            timeout_min=chosen.minutes,
            slurm_signal_delay_s=min(WARNED, 15 * chosen.minutes),
            cpus_per_task=chosen.cpus,
            mem_gb=chosen.memory,
            slurm_array_parallelism=chosen.at_once,
            slurm_additional_parameters={"requeue": True, **(chosen.more or {})},
            **({"slurm_partition": chosen.partition} if chosen.partition else {}),
            **({"gpus_per_node": chosen.gpus} if chosen.gpus else {}),
        )
        return executor

    def _task(self, work: Work) -> SlurmTask:
        parcel = packed(work, self._sender, shared=True)
        for name in parcel.tables:
            path = self._folder / "tables" / name
            if not path.exists():
                write_atomically(path, partial(_write, self._sender.pickled(name)))
        return SlurmTask(parcel, self._folder / "tables")

    def _ask(self, force: bool = False) -> None:
        """Asks Slurm which jobs of this user there are; while one waits it may not answer.

        Raises:
            UserError: if it has to answer, and does not.
        """
        if not force and time.monotonic() - self._asked < ASKED:
            return
        command = ["squeue", "--me", "--noheader", "--array", "--format=%i"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            self._queued = set(done.stdout.split())
            self._asked = time.monotonic()
        elif force:
            raise UserError(f"engine=slurm: squeue does not answer: {_last_line(done.stderr)}.")

    def _came(self, work: Work) -> bool:
        """Whether the scores of a job that is gone have come, perhaps a little late.

        Raises:
            UserError: if its machine refused to compute.
            RuntimeError: with the traceback of what went wrong there.
        """
        job = self._jobs.get(work.key)
        said = result(self._folder, job) if job else None
        if said is None:
            return work.finished()
        kind, value = said
        if kind == "error":
            raise RuntimeError(f"job {job} ended with an error:\n{value}")
        if value is not None:
            raise UserError(value)
        until = time.monotonic() + SEEN_WITHIN
        while not work.finished() and time.monotonic() < until:
            time.sleep(POLL)
        return work.finished()


def _by(works: Sequence[Work], most: int) -> Iterator[Sequence[Work]]:
    for start in range(0, len(works), most):
        yield works[start : start + most]


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].rstrip(".") if lines else "it says nothing"


def _write(content: bytes, file: BinaryIO) -> None:
    file.write(content)
