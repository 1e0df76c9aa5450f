"""Locks: their holders, and how they are released."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from support.tiny_runs import Planner
from support.user_errors import assert_user_error, raises_user_error

from bnnbench.experiment.store import lock
from bnnbench.experiment.store.lock import lock_group, lock_tables, lock_units, note_of
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.types import UserError

HOLD = """
import sys, time
from pathlib import Path
from bnnbench.experiment.store.lock import lock_units
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
with lock_units(UnitStore(RunFolder(Path(sys.argv[1]))), ["a"]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def store(tmp_path: Path) -> UnitStore:
    folder = RunFolder(tmp_path / "run")
    folder.create()
    return UnitStore(folder)


@contextmanager
def another_process(store: UnitStore) -> Iterator[subprocess.Popen[str]]:
    """Start a process that holds the lock of unit `a`, and kill it at the end of the block."""
    words = [sys.executable, "-c", HOLD, str(store.folder.root)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_the_lock_of_a_killed_process_is_free_at_once(store: UnitStore) -> None:
    """Its note is left behind and must be ignored."""
    note = note_of(store.file("a", "lock"))
    with another_process(store) as process:
        with raises_user_error(code="locked") as error, lock_units(store, ["b", "a"]):
            raise AssertionError("all units or none")
        assert f"(a): process {process.pid} on {os.uname().nodename};" in str(error.value)
        with lock_units(store, ["b"]):
            pass
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert str(process.pid) in note.read_text()
        with lock_units(store, ["a"]):
            assert str(os.getpid()) in note.read_text()
    assert not note.exists()


def test_the_lock_of_a_suspended_process_is_kept(store: UnitStore) -> None:
    with another_process(store) as process:
        process.send_signal(signal.SIGSTOP)
        with raises_user_error(code="locked"), lock_units(store, ["a"]):
            raise AssertionError("acquired twice")


def test_a_lock_without_a_note_is_held(store: UnitStore) -> None:
    with (
        FileLock(store.file("a", "lock")),
        pytest.raises(UserError, match="an unknown process"),
        lock_units(store, ["a"]),
    ):
        raise AssertionError("acquired twice")


def test_a_group_waits_for_an_orphan(store: UnitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = FileLock(store.file("a", "working.lock"), thread_local=False)
    orphan.acquire()
    threading.Timer(0.5, orphan.release).start()
    began = time.monotonic()
    with lock_group(store, "a"):
        assert 0.4 < time.monotonic() - began < 30
        monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0.1)
        with raises_user_error(code="locked"), lock_group(store, "a"):
            raise AssertionError("acquired twice")


def test_tables_are_locked(store: UnitStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "LOCK_TIMEOUT", 0.1)
    with (
        lock_tables(store.folder),
        pytest.raises(UserError, match=r"\(its tables\)"),
        lock_tables(store.folder),
    ):
        raise AssertionError("acquired twice")


def test_a_full_disk_leaves_no_empty_note(
    store: UnitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, *_: str) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"), lock_units(store, ["a"]):
        pass
    monkeypatch.undo()
    assert not note_of(store.file("a", "lock")).exists()
    with lock_units(store, ["a"]):
        pass


def test_a_file_system_without_locks_is_named(
    store: UnitStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", unsupported)
    with raises_user_error("outputs_dir", "no_locks"), lock_units(store, ["a"]):
        pass


def test_a_locked_unit_of_a_run_is_refused(tiny: Planner) -> None:
    run = tiny("splits=2")
    run.folder.create()
    with lock_units(run.store, ["split-01"]):
        with pytest.raises(UserError) as error, lock_units(run.store, run.experiment.units()):
            raise AssertionError("all units or none")
        assert_user_error(error, code="locked")
        run.store.discard(["split-01"])
        files = {run.store.file("split-01", "lock"), note_of(run.store.file("split-01", "lock"))}
        assert all(file.exists() for file in files), "locks are not discarded"
