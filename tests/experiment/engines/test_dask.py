"""Runs on a Dask cluster give the same numbers as local ones, even if workers are lost.

Tests marked slow start a scheduler and two workers as separate processes and kill them.
"""

from __future__ import annotations

import errno
import platform
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from support.killing import (
    LONG_RUN,
    Finished,
    assert_same_results,
    evaluations,
    finished_despite,
    kill_driver,
    wait_for,
)
from support.tiny_runs import Planner, finished, tiny_run
from support.user_errors import assert_user_error, raises_user_error

from bnnbench.experiment.engines import dask
from bnnbench.experiment.engines.dask import Dask
from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.run.run import Run
from bnnbench.types import UserError

pytest.importorskip("distributed")


@pytest.mark.parametrize("address", [None, "", "HOST:8786", 8786])
def test_an_address_is_required(address: object) -> None:
    with raises_user_error("engine.address"):
        Dask(name="dask", address=address)  # type: ignore[arg-type]


def test_dask_must_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "find_spec", lambda name: None)
    with raises_user_error("engine"):
        Dask(name="dask", address="tcp://HOST:8786")


def test_a_scheduler_must_answer() -> None:
    settings = Dask(name="dask", address="nowhere://HOST:8786")
    with raises_user_error("engine.address", "no_answer"):
        settings.create_engine(1, Path())


@pytest.mark.parametrize(
    ("variables", "problem"),
    [({}, "DASK_DISTRIBUTED__COMM__TLS__CA_FILE"), ({"ca-file": "no-such.pem"}, "No such file")],
)
def test_an_encrypted_address_needs_certificates(variables: dict[str, str], problem: str) -> None:
    import dask as settings_of

    engine = Dask(name="dask", address="tls://127.0.0.1:1")
    given = {f"distributed.comm.tls.{name}": value for name, value in variables.items()}
    given |= {f"distributed.comm.tls.client.{name}": "no-such.pem" for name in ("cert", "key")}
    with settings_of.config.set(given if variables else {}), pytest.raises(UserError) as error:
        engine.create_engine(1, Path())
    assert_user_error(error, "engine.address", "certificates")
    assert problem in str(error.value)


def test_an_error_of_a_task_is_raised_without_a_retry(
    tiny: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    calls = []

    def fail(task: Task, cores: int = 1) -> None:
        calls.append(task.units)
        raise ValueError("a mistake of ours")

    monkeypatch.setattr(Task, "run", fail)
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        run = replace(tiny("splits=1"), engine=Dask(name="dask", address=cluster.scheduler_address))
        with pytest.raises(ValueError, match="a mistake of ours"):
            finished(run)
    assert calls == [("split-00",)]


@dataclass
class Cluster:
    """A scheduler and workers, each a separate process that can be killed."""

    folder: Path
    port: int
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self, *words: str, within: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            command = [*within, sys.executable, "-m", "dask", *words, "--no-dashboard"]
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)

    def start_scheduler(self) -> None:
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", f"{self.port}")

    def start_worker(self, within: Sequence[str] = ()) -> None:
        # Without a nanny, so that the computing process is killed.
        words = ("worker", self.address, "--nthreads", "1", "--no-nanny")
        self.workers.append(self.start(*words, within=within))

    def kill_worker(self) -> None:
        worker = self.workers.pop(0)
        worker.kill()
        worker.wait()

    def kill_scheduler(self) -> None:
        assert self.scheduler is not None
        self.scheduler.kill()
        self.scheduler.wait()

    def stop(self) -> None:
        for process in filter(None, (*self.workers, self.scheduler)):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Cluster(folder, port)
    made.start_scheduler()
    for _ in range(2):
        made.start_worker()
    yield made
    made.stop()


@pytest.fixture
def local(table_csv: Path, tmp_path: Path) -> Finished:
    return finished(tiny_run(table_csv, tmp_path / "local", *LONG_RUN))


def on(cluster: Cluster, table: Path, outputs: Path, shared: bool = True) -> Run:
    engine = Dask(name="dask", address=cluster.address, shared=shared)
    return replace(tiny_run(table, outputs, *LONG_RUN), engine=engine)


@pytest.mark.slow
def test_workers_that_are_killed_three_times(
    cluster: Cluster, table_csv: Path, tmp_path: Path, local: Finished
) -> None:
    outputs, killed = tmp_path / "there", []

    def kill() -> None:
        for count in (3, 10, 18):
            wait_for(outputs, count)
            cluster.kill_worker()
            killed.append(evaluations(outputs))
            cluster.start_worker()

    found = finished_despite(kill, on(cluster, table_csv, outputs))
    assert len(killed) == 3 and killed[-1] < 32
    assert_same_results(found, local)


@pytest.mark.slow
def test_a_scheduler_that_is_killed(
    cluster: Cluster, table_csv: Path, tmp_path: Path, local: Finished
) -> None:
    outputs, killed = tmp_path / "there", []

    def kill() -> None:
        wait_for(outputs, 5)
        cluster.kill_scheduler()
        killed.append(evaluations(outputs))
        time.sleep(2)
        cluster.start_scheduler()
        for _ in range(2):
            cluster.start_worker()

    found = finished_despite(kill, on(cluster, table_csv, outputs))
    assert killed and killed[0] < 32
    assert_same_results(found, local)


@pytest.mark.slow
def test_a_driver_that_is_killed(
    cluster: Cluster, table_csv: Path, tmp_path: Path, local: Finished
) -> None:
    run = on(cluster, table_csv, tmp_path / "there")
    kill_driver(run.engine, table_csv, run.outputs, 5)
    assert_same_results(finished(run), local)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler gives up a worker after 30 seconds instead of 5 minutes."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "30 s")


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_worker_that_no_longer_answers(
    cluster: Cluster, table_csv: Path, tmp_path: Path, local: Finished
) -> None:
    """The worker is suspended; in a shared folder, it would keep its lock."""
    outputs, stopped = tmp_path / "there", []

    def stop() -> None:
        wait_for(outputs, 8)
        cluster.workers[0].send_signal(signal.SIGSTOP)
        stopped.append(evaluations(outputs))

    found = finished_despite(stop, on(cluster, table_csv, outputs, shared=False))
    assert stopped and stopped[0] < 32 and cluster.workers[0].poll() is None
    assert_same_results(found, local)


def small_disk(folder: Path) -> list[str]:
    """Return the start of a command whose temporary files are on a tiny disk."""
    folder.mkdir()
    mount = 'mount -t tmpfs -o size=16k tmpfs "$TMPDIR" && exec "$@"'
    private = ["unshare", "--user", "--map-root-user", "--mount"]
    return [*private, "env", f"TMPDIR={folder}", "sh", "-c", mount, "sh"]


@pytest.mark.slow
def test_a_worker_whose_disk_is_full(
    cluster: Cluster, table_csv: Path, tmp_path: Path, local: Finished
) -> None:
    full = small_disk(tmp_path / "small")
    if subprocess.run([*full, "true"], check=False, capture_output=True).returncode:
        pytest.skip("private mounts are not allowed here")
    for _ in range(2):
        cluster.kill_worker()
    cluster.start_worker(within=full)
    run = on(cluster, table_csv, tmp_path / "there", shared=False)
    with pytest.raises(OSError, match="No space left on device") as refused:
        finished(run)
    assert refused.value.errno == errno.ENOSPC
    where = rf"{re.escape(platform.node())}: {tmp_path}/small/bnnbench-\w+/work/split-0\d\.\w+"
    assert re.match(where, refused.value.filename), refused.value.filename
    cluster.kill_worker()
    cluster.start_worker()
    assert_same_results(finished(run), local)
