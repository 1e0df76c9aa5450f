"""Locks: who has one, whether it is still there, and what becomes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bnnbench.experiment import lease
from bnnbench.experiment.lease import LAPSES, Held, beating, held, note_of, read_note
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_lock import claimed
from bnnbench.types import UserError

ELSEWHERE = {"host": "node17", "pid": 4711, "since": "2026-11-22T05:00:00+00:00"}

TAKE_AND_DIE = """
import os, sys
from pathlib import Path
from bnnbench.experiment.lease import held
with held(Path(sys.argv[1])):
    os._exit(9)
"""


def taken_elsewhere(path: Path, untouched: float = 0.0) -> Path:
    """The note of another machine, which nobody has touched for so many seconds."""
    note = note_of(path)
    note.write_text(json.dumps(ELSEWHERE))
    then = time.time() - untouched
    os.utime(note, (then, then))
    return note


def test_the_note_says_who_and_goes_with_the_block(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with held(path):
        holder = read_note(note_of(path))
        assert holder and holder.pid == os.getpid() and holder.since.endswith("+00:00")
        who = rf"^process {os.getpid()} on {holder.host} since 20"
        with pytest.raises(Held, match=who), held(path):
            raise AssertionError("nobody has a lock twice")
        assert read_note(note_of(path)) == holder, "who is refused takes nothing away"
    assert read_note(note_of(path)) is None
    with held(path):
        pass


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    """Its note is left behind; that must not lock anybody out."""
    path = tmp_path / "a.lock"
    done = subprocess.run([sys.executable, "-c", TAKE_AND_DIE, str(path)], check=False)
    assert done.returncode == 9 and read_note(note_of(path)) is not None
    began = time.monotonic()
    with held(path):
        assert time.monotonic() - began < 5
        assert read_note(note_of(path)).pid == os.getpid()  # type: ignore[union-attr]


def test_another_machines_lock_holds_as_long_as_its_note_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    note = taken_elsewhere(path, untouched=LAPSES - 5)
    with pytest.raises(Held, match="process 4711 on node17 since 2026-11-22T05:00"), held(path):
        pass
    assert read_note(note).host == "node17"  # type: ignore[union-attr]
    taken_elsewhere(path, untouched=LAPSES + 5)
    with held(path):
        assert read_note(note).host != "node17"  # type: ignore[union-attr]
    assert not note.exists()


def test_a_note_that_cannot_be_read_counts_as_long_as_any(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    note_of(path).touch()
    with pytest.raises(Held, match="has not said which"), held(path):
        pass


def test_a_process_that_stands_still_loses_what_is_to_beat(tmp_path: Path) -> None:
    """Though the kernel keeps its lock, as it does for one that was stopped."""
    path = tmp_path / "a.lock"
    with held(path):
        then = time.time() - LAPSES - 5
        os.utime(note_of(path), (then, then))
        with pytest.raises(Held, match=f"process {os.getpid()} "), held(path):
            pass
        with held(path, beats=True), pytest.raises(Held), held(path, beats=True):
            raise AssertionError("its note was touched this moment")


def test_who_waits_gets_the_lock_when_it_is_given_back(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    note = taken_elsewhere(path)
    threading.Timer(0.3, note.unlink).start()
    with held(path, patience=30):
        assert read_note(note).pid == os.getpid()  # type: ignore[union-attr]


def test_notes_are_touched_while_there_is_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "BEAT", 0.01)
    before = threading.active_count()
    with held(tmp_path / "a.lock"), held(tmp_path / "b.lock"):
        notes = [note_of(tmp_path / name) for name in ("a.lock", "b.lock")]
        for note in notes:
            os.utime(note, (0, 0))
        with beating():
            until = time.monotonic() + 30
            while any(note.stat().st_mtime == 0 for note in notes):
                assert time.monotonic() < until
                time.sleep(0.01)
        assert threading.active_count() == before


def test_a_full_disk_leaves_no_empty_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lease.json, "dumps", full)
    with pytest.raises(OSError, match="No space"), held(tmp_path / "a.lock"):
        pass
    assert not note_of(tmp_path / "a.lock").exists()


def test_a_unit_of_another_machine_is_refused_in_one_sentence(tiny: Callable[..., Run]) -> None:
    run = tiny("splits=2")
    run.folder.create()
    taken_elsewhere(run.store.file("split-01", "lock"))
    said, units = r"split-01\): process 4711 on node17 .* within 60 s", run.experiment.units()
    with pytest.raises(UserError, match=said), claimed(run.store, units):
        raise AssertionError("all or none")
    run.store.discard(["split-01"])
    assert note_of(run.store.file("split-01", "lock")).exists(), "what is discarded is no lock"
