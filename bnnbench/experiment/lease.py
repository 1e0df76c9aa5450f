"""A lock that says who holds it and dies with its process, or with its machine.

On one machine the kernel's lock decides, which ends with the process that has it. Machines that
share a folder may not see each other's (NFS with local locks), so beside the lock lies a note: who,
where, since when. Whoever holds the lock touches its note again and again; one that nobody has
touched for `LAPSES` seconds is of a process that is gone, and counts no more.

A process may stand still and be there, stopped or waiting for a disk that is gone, and the kernel
keeps its lock. Where whoever has a lock touches its note all the time, the note decides then too.

Two machines that take over from a third in the same moment may both have the lock. What it guards
must bear that: units are written whole and come to the same bits, whoever computes them.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

BEAT = 10.0
"""Seconds between touches."""

LAPSES = 6 * BEAT
"""Seconds after which a note that nobody touched counts no more."""

POLL = 0.2  # seconds between looks at a note of another machine
SUFFIX = ".held"

_notes: set[Path] = set()
"""Of all locks that this process has."""


@dataclass(frozen=True)
class Holder:
    """Who has a lock.

    Attributes:
        host: the machine's name.
        pid: of the process there.
        since: ISO 8601 in UTC.
    """

    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


class Held(Exception):
    """Somebody else has the lock.

    Attributes:
        holder: who, in words.
    """

    def __init__(self, holder: Holder | None) -> None:
        self.holder = str(holder) if holder else "a process that has not said which"
        super().__init__(self.holder)


@contextmanager
def held(path: Path, patience: float = 0.0, beats: bool = False) -> Iterator[None]:
    """Has a lock as long as the block lasts.

    Args:
        path: of the lock file, which stays; its note is taken away.
        patience: seconds to wait for whoever has it.
        beats: whether all who have it are `beating`, so that one that stands still loses it.

    Raises:
        Held: if somebody else still has it then.
    """
    note, until = note_of(path), time.monotonic() + patience
    lock = FileLock(path)
    _acquire(lock, path, until, beats)
    try:
        _leave_note(path, note, until)
        _notes.add(note)
        yield
    finally:
        if note in _notes:
            _notes.discard(note)
            note.unlink(missing_ok=True)
        lock.release()


@contextmanager
def beating() -> Iterator[None]:
    """Touches the notes of this process until the block ends, by a thread.

    Without it they hold for `LAPSES` seconds, which is enough to write tables and figures.
    """
    stop = threading.Event()
    thread = threading.Thread(target=_beat, args=(stop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def note_of(path: Path) -> Path:
    """Where the note on a lock lies."""
    return path.with_name(f"{path.name}{SUFFIX}")


def read_note(note: Path) -> Holder | None:
    """Who holds the lock; None where nobody does or the note cannot be read."""
    try:
        return Holder(**json.loads(note.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _acquire(lock: FileLock, path: Path, until: float, beats: bool) -> None:
    """Gets the kernel's lock, or does without where whoever has it stands still."""
    note = note_of(path)
    while True:
        with suppress(Timeout):
            lock.acquire(timeout=max(0.0, min(1.0, until - time.monotonic())))
            return
        if beats and _age(path, note) >= LAPSES:
            return
        if time.monotonic() >= until:
            raise Held(read_note(note))


def _beat(stop: threading.Event) -> None:
    while not stop.wait(BEAT):
        for note in [*_notes]:
            with suppress(OSError):  # a folder that is away for a moment
                os.utime(note)


def _leave_note(path: Path, note: Path, until: float) -> None:
    """Writes the note, once no other machine's counts."""
    here = platform.node()
    ours = Holder(here, os.getpid(), datetime.now(UTC).isoformat(timespec="seconds"))
    while True:
        try:
            with note.open("x") as file:  # one of two that try gets it, on NFS too
                file.write(json.dumps(asdict(ours)))
            return
        except FileExistsError:
            theirs = read_note(note)
        except OSError:  # a full disk makes a file and writes nothing into it
            note.unlink(missing_ok=True)
            raise
        # One of this machine is of a process that is gone, or the kernel had not let us have it.
        if (theirs is not None and theirs.host == here) or _age(path, note) >= LAPSES:
            note.unlink(missing_ok=True)
        elif time.monotonic() >= until:
            raise Held(theirs)
        else:
            time.sleep(POLL)


def _age(path: Path, note: Path) -> float:
    """Seconds since a note was touched, by the clock of the file system that both lie on."""
    try:
        os.utime(path)
        return path.stat().st_mtime - note.stat().st_mtime
    except FileNotFoundError:  # taken away this moment
        return 0.0
