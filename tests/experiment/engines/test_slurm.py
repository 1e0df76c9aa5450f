"""Slurm jobs give the same numbers as local runs, even if jobs or drivers are killed.

Tests marked slow need a cluster of two nodes; `docs/tools/check_slurm.sh` starts one on this host.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

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

from bnnbench.experiment.base import Task
from bnnbench.experiment.engines import slurm
from bnnbench.experiment.engines.base import LostTaskCounter
from bnnbench.experiment.engines.slurm import Slurm
from bnnbench.experiment.run import Run

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
    submitted = {path.name for path in (run.outputs / ".slurm").glob("[0-9]*")}
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
    assert len(list((outputs / ".slurm").glob("[0-9]*"))) == 1, "Slurm queued them again itself"
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


def test_pickles_are_read_only_from_a_private_folder(tmp_path: Path) -> None:
    folder = tmp_path / "outputs" / ".slurm"
    slurm.create_private_folder(folder)
    slurm.create_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    with raises_user_error("outputs_dir", "not_private"):
        slurm.create_private_folder(folder)


@pytest.mark.parametrize(("job", "expected"), [("12_3", "12_3"), ("12", "12"), ("../x", "")])
def test_a_stored_job_is_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, job: str, expected: str
) -> None:
    file = tmp_path / "slurm.json"
    monkeypatch.setattr(slurm, "job_file", lambda task: file)
    file.write_text(f'{{"job": "{job}"}}')
    assert slurm.saved_job(Task((), (), "")) == expected
