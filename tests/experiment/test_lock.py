"""Locks: their holders, and how they expire."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from support.tiny_runs import Planner
from support.user_errors import assert_user_error

from bnnbench.experiment import lock
from bnnbench.experiment.lock import (
    EXPIRES_AFTER,
    LockTaken,
    acquire,
    heartbeat,
    lock_units,
    note_of,
    read_note,
)
from bnnbench.types import UserError

ELSEWHERE = {"host": "node17", "pid": 4711, "since": "2026-11-22T05:00:00+00:00"}


def taken_elsewhere(path: Path, untouched: float = 0.0) -> Path:
    """Write the note of another machine, last touched some seconds ago."""
    note = note_of(path)
    note.write_text(json.dumps(ELSEWHERE))
    then = time.time() - untouched
    os.utime(note, (then, then))
    return note


def test_the_note_names_the_holder_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with acquire(path):
        holder = read_note(note_of(path))
        assert holder and holder.pid == os.getpid() and holder.since.endswith("+00:00")
        who = rf"^process {os.getpid()} on {holder.host} since 20"
        with pytest.raises(LockTaken, match=who), acquire(path):
            raise AssertionError("acquired twice")
        assert read_note(note_of(path)) == holder, "a failed attempt leaves the note"
    assert read_note(note_of(path)) is None
    with acquire(path):
        pass


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    """Its note is left behind and must be ignored."""
    path = tmp_path / "a.lock"
    child = os.fork()
    if not child:
        with acquire(path):
            os._exit(9)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert read_note(note_of(path)) is not None
    began = time.monotonic()
    with acquire(path):
        assert time.monotonic() - began < 5
        assert read_note(note_of(path)).pid == os.getpid()  # type: ignore[union-attr]


def test_the_lock_of_another_machine_expires_with_its_note(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    note = taken_elsewhere(path, untouched=EXPIRES_AFTER - 5)
    with (
        pytest.raises(LockTaken, match="process 4711 on node17 since 2026-11-22T05:00"),
        acquire(path),
    ):
        pass
    assert read_note(note).host == "node17"  # type: ignore[union-attr]
    taken_elsewhere(path, untouched=EXPIRES_AFTER + 5)
    with acquire(path):
        assert read_note(note).host != "node17"  # type: ignore[union-attr]
    assert not note.exists()


def test_an_unreadable_note_counts_until_it_expires(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    note_of(path).touch()
    with pytest.raises(LockTaken, match="unknown process"), acquire(path):
        pass


def test_a_suspended_process_loses_a_lock_with_heartbeat(tmp_path: Path) -> None:
    """Although the kernel keeps its lock."""
    path = tmp_path / "a.lock"
    with acquire(path):
        then = time.time() - EXPIRES_AFTER - 5
        os.utime(note_of(path), (then, then))
        with pytest.raises(LockTaken, match=f"process {os.getpid()} "), acquire(path):
            pass
        with (
            acquire(path, has_heartbeat=True),
            pytest.raises(LockTaken),
            acquire(path, has_heartbeat=True),
        ):
            raise AssertionError("its note was just touched")


def test_a_waiting_process_gets_a_released_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    note = taken_elsewhere(path)
    threading.Timer(0.3, note.unlink).start()
    with acquire(path, timeout=30):
        assert read_note(note).pid == os.getpid()  # type: ignore[union-attr]


def test_a_heartbeat_touches_all_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "HEARTBEAT_INTERVAL", 0.01)
    before = threading.active_count()
    with acquire(tmp_path / "a.lock"), acquire(tmp_path / "b.lock"):
        notes = [note_of(tmp_path / name) for name in ("a.lock", "b.lock")]
        for note in notes:
            os.utime(note, (0, 0))
        with heartbeat():
            until = time.monotonic() + 30
            while any(note.stat().st_mtime == 0 for note in notes):
                assert time.monotonic() < until
                time.sleep(0.01)
        assert threading.active_count() == before


def test_a_full_disk_leaves_no_empty_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lock.json, "dumps", full)
    with pytest.raises(OSError, match="No space"), acquire(tmp_path / "a.lock"):
        pass
    assert not note_of(tmp_path / "a.lock").exists()


def test_a_unit_locked_by_another_machine_is_refused(tiny: Planner) -> None:
    run = tiny("splits=2")
    run.folder.create()
    taken_elsewhere(run.store.file("split-01", "lock"))
    with pytest.raises(UserError) as error, lock_units(run.store, run.experiment.units()):
        raise AssertionError("all units or none")
    assert_user_error(error, code="locked")
    assert "(split-01): process 4711 on node17" in str(error.value)
    run.store.discard(["split-01"])
    assert note_of(run.store.file("split-01", "lock")).exists(), "locks are not discarded"
