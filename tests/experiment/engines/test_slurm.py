"""Slurm jobs give the same numbers as local runs, even if jobs or drivers are killed.

Tests marked slow need a cluster of two nodes; `docs/tools/check_slurm.sh` starts one on this host.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.killing import (
    LONG_RUN,
    WAIT,
    Finished,
    assert_same_results,
    evaluations,
    finished_despite,
    kill_driver,
    wait_for,
)
from support.tiny_runs import Planner, finished, tiny_run
from support.user_errors import raises_user_error

from bnnbench.experiment.engines import base, slurm
from bnnbench.experiment.engines.base import LostTaskCounter
from bnnbench.experiment.engines.payload import PayloadCache, pack
from bnnbench.experiment.engines.slurm import Slurm, SlurmJob
from bnnbench.experiment.run.run import Run
from bnnbench.types import UserError

pytest.importorskip("submitit")


@pytest.fixture(scope="module")
def cluster() -> None:
    if shutil.which("sinfo") is None or subprocess.run(["sinfo"], check=False).returncode:
        pytest.skip("no Slurm here: docs/tools/check_slurm.sh")


def test_sbatch_and_submitit_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with raises_user_error("engine", "no_sbatch"):
        Slurm(name="slurm")
    monkeypatch.setattr(slurm, "find_spec", lambda name: None)
    with raises_user_error("engine"):
        Slurm(name="slurm")


@pytest.mark.parametrize("wrong", [{"minutes": 0}, {"gpus": -1}, {"cpus": "all"}])
def test_a_wrong_setting_is_named(wrong: dict[str, object]) -> None:
    with raises_user_error(f"engine.{next(iter(wrong))}"):
        Slurm(name="slurm", **wrong)  # type: ignore[arg-type]


def test_a_lost_task_is_repeated_as_long_as_it_makes_progress(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, progress = tiny("splits=1"), [0.0]
    monkeypatch.setattr(type(run.experiment), "progress", lambda *_: progress[0])
    (task,) = run.tasks(run.experiment.units())
    losses = LostTaskCounter()
    for _ in range(10):
        progress[0] += 0.05
        losses.add(task, "see the logs")
    for _ in range(2):
        losses.add(task, "see the logs")
    with raises_user_error(code="task_lost") as error:
        losses.add(task, "see the logs")
    assert all(part in str(error.value) for part in ("split-00", "4 times", "see the logs"))


@pytest.fixture
def local(table_csv: Path, tmp_path: Path) -> Finished:
    return finished(tiny_run(table_csv, tmp_path / "local", *LONG_RUN))


def on_slurm(table: Path, outputs: Path, minutes: int = 60) -> Run:
    engine = Slurm(name="slurm", partition="cpu", memory=1, minutes=minutes)
    return replace(tiny_run(table, outputs, *LONG_RUN), engine=engine)


def running() -> list[str]:
    """Return the ids of the running array elements."""
    command = ["squeue", "--noheader", "--array", "--states=running", "--format=%i"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def computing(outputs: Path) -> list[int]:
    """Return the processes of the jobs, whose nodes are this host."""
    command = ["pgrep", "-f", f"^{sys.executable} .*submitit.core._submit {outputs}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_jobs_that_are_killed_three_times(table_csv: Path, tmp_path: Path, local: Finished) -> None:
    """By `kill -9` of the process that computes, and by `scancel`."""
    outputs, killed = tmp_path / "there", []

    def kill() -> None:
        for count in (2, 9, 17):
            wait_for(outputs, count)
            subprocess.run(["scancel", "--signal=KILL", running()[0]], check=True)
            killed.append(evaluations(outputs))

    found = finished_despite(kill, on_slurm(table_csv, outputs))
    assert len(killed) == 3 and killed[-1] < 32
    assert_same_results(found, local)


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_a_driver_that_is_killed_finds_its_jobs_again(
    table_csv: Path, tmp_path: Path, local: Finished
) -> None:
    run = on_slurm(table_csv, tmp_path / "there")
    kill_driver(run.engine, table_csv, run.outputs, 2)
    arrays = {job.partition("_")[0] for job in running()}
    assert_same_results(finished(run), local)
    submitted = {path.name for path in (run.outputs / ".slurm").glob("*/[0-9]*")}
    assert submitted == arrays, "nothing was submitted twice"


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_jobs_that_are_preempted(table_csv: Path, tmp_path: Path, local: Finished) -> None:
    outputs, preempted = tmp_path / "there", []

    def press() -> None:
        wait_for(outputs, 3)
        urgent = ["sbatch", "--partition=urgent", "--output=/dev/null", "--wrap=sleep 5"]
        for _ in range(2):
            subprocess.run(urgent, check=True, capture_output=True)
        until = time.monotonic() + WAIT
        while any("_" in job for job in running()) and time.monotonic() < until:
            time.sleep(0.1)
        preempted.append(evaluations(outputs))

    found = finished_despite(press, on_slurm(table_csv, outputs))
    assert preempted and preempted[0] < 32
    assert_same_results(found, local)


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_jobs_that_run_out_of_time(table_csv: Path, tmp_path: Path, local: Finished) -> None:
    """Jobs of one minute are suspended until Slurm signals the time limit, like slow ones."""
    outputs, begun = tmp_path / "there", dict[Path, bytes]()

    def slow_down() -> None:
        wait_for(outputs, 3)
        for job in computing(outputs):
            os.kill(job, signal.SIGSTOP)
        time.sleep(1)
        begun.update({path: path.read_bytes() for path in outputs.rglob("*.trials.jsonl")})

    found = finished_despite(slow_down, on_slurm(table_csv, outputs, minutes=1))
    logs = [path.read_text() for path in (outputs / ".slurm").rglob("*.err")]
    assert any("this job is timed-out" in text for text in logs), logs
    assert len(list((outputs / ".slurm").glob("*/[0-9]*"))) == 1, "Slurm queued them again itself"
    assert 3 <= sum(log.count(b"\n") for log in begun.values()) < 32
    assert all(path.read_bytes().startswith(log) for path, log in begun.items()), "including times"
    assert_same_results(found, local)


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_an_error_of_a_job_has_its_traceback(table_csv: Path, tmp_path: Path) -> None:
    run = on_slurm(table_csv, tmp_path / "there")
    engine = run.engine.create_engine(1, run.outputs)
    (task, *_) = run.tasks(run.experiment.units())
    broken = replace(task.experiment, device="abacus")  # type: ignore[call-arg]
    run.folder.create()
    with pytest.raises(RuntimeError, match=r"(?s)ended with an error:.*Traceback.*abacus"):
        engine.finish([replace(task, experiment=broken)], lambda: None)


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_jobs_that_slurm_rejects(table_csv: Path, tmp_path: Path) -> None:
    run = on_slurm(table_csv, tmp_path / "there")
    wrong = replace(run, engine=Slurm(name="slurm", partition="nowhere", memory=1))
    with raises_user_error("engine", "rejected") as error:
        finished(wrong)
    assert "nvalid partition" in str(error.value)


@pytest.fixture
def engine(tiny: Planner, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """An engine whose jobs run at once in this process."""
    monkeypatch.setattr(Slurm, "check", lambda settings: None)
    monkeypatch.setattr(slurm, "POLL_INTERVAL", 0.0)
    monkeypatch.setattr(base, "FILE_SYSTEM_DELAY", 0.0)
    run = tiny("splits=1")
    run.folder.create()
    return FakeEngine(run, Slurm(name="slurm"), run.outputs)


class FakeEngine(slurm.SlurmEngine):
    """Runs jobs at once; `queue` has the jobs that other commands submitted."""

    def __init__(self, run: Run, settings: Slurm, outputs: Path) -> None:
        super().__init__(settings, outputs)
        (self.task,) = run.tasks(run.experiment.units())
        self.queue: set[str] = set()
        self.submitted = 0

    def _update_queue(self, force: bool = False) -> None:
        self._queued = set(self.queue)
        self.queue.clear()  # they end after the first look

    def _submit_array(self, jobs: Sequence[SlurmJob]) -> list[Any]:
        self.submitted += len(jobs)
        for job in jobs:
            with suppress(Exception):
                job()
        return [SimpleNamespace(job_id="8") for _ in jobs]


class Trap:
    """Creates a file when it is loaded from a pickle."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


@pytest.mark.parametrize("queued", [True, False])
@pytest.mark.parametrize(
    "name", ["tables/{table}", "tables/{short}", "7/7_0_result.pkl", "8/8_0_submitted.pkl"]
)
def test_no_received_pickle_is_loaded(
    engine: FakeEngine, tmp_path: Path, name: str, queued: bool
) -> None:
    (table,) = pack(engine.task, PayloadCache(), shared=True).tables
    received = engine.task.store.folder.root.parents[3] / ".slurm"
    file = received / name.format(table=table, short=table[:16])
    file.parent.mkdir(parents=True)
    received.chmod(0o700)
    trap = pickle.dumps(Trap(tmp_path / "loaded"))
    file.write_bytes(trap)
    slurm.save_job(engine.task, "7")
    engine.queue = {"7"} if queued else set()
    engine.finish([engine.task], lambda: None)
    assert engine.task.finished() and engine.submitted == 1
    assert not (tmp_path / "loaded").exists() and file.read_bytes() == trap


def test_each_command_has_a_folder_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "outputs" / ".slurm"
    folders = {slurm.create_private_folder(folder) for _ in range(2)}
    assert len(folders) == 2 and all(one.parent == folder for one in folders)
    assert all(one.stat().st_mode & 0o777 == 0o700 for one in (folder, *folders))
    folder.chmod(0o770)
    with raises_user_error("outputs_dir", "not_private"):
        slurm.create_private_folder(folder)


@pytest.mark.parametrize("adopted", [True, False])
@pytest.mark.parametrize(
    ("error", "raised"),
    [(UserError("node17: no GPU."), UserError), (ZeroDivisionError("by zero"), RuntimeError)],
)
def test_an_error_of_a_job_is_raised_by_the_command(
    engine: FakeEngine,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    raised: type[Exception],
    adopted: bool,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(slurm, "compute", fail)
    if adopted:  # by a command that found the job in the queue
        with pytest.raises(type(error)):
            engine._job(engine.task)()
        slurm.save_job(engine.task, "7")
        engine.queue = {"7"}
    with pytest.raises(raised, match=str(error)) as found:
        engine.finish([engine.task], lambda: None)
    assert type(found.value) is raised and engine.submitted == (not adopted)


def test_an_error_of_an_earlier_job_is_forgotten(engine: FakeEngine) -> None:
    slurm.outcome_file(engine.task).write_text('{"message": "An old error."}')
    engine.finish([engine.task], lambda: None)
    assert engine.task.finished()


@pytest.mark.parametrize("text", ["", "[]", "null", '"7"', '{"job": 7}', '{"job": ["7"]}', "{"])
def test_a_damaged_job_file_names_no_job(engine: FakeEngine, text: str) -> None:
    slurm.job_file(engine.task).write_text(text)
    assert slurm.saved_job(engine.task) == ""


def test_a_pipe_in_place_of_a_job_file_is_not_read(engine: FakeEngine) -> None:
    os.mkfifo(slurm.job_file(engine.task))
    os.mkfifo(slurm.outcome_file(engine.task))
    engine.finish([engine.task], lambda: None)
    assert engine.task.finished()
