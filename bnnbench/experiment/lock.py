"""Locks that name their holder and are released when its process or machine dies.

On one machine the lock of the kernel decides; it is released when its process ends. Machines that
share a folder may not see each other's locks (NFS with local locks), so the holder also writes a
note next to the lock: host, process and time. It touches the note regularly; a note that has not
been touched for `EXPIRES_AFTER` seconds belongs to a dead process and is ignored.

The kernel keeps the lock of a process that is suspended or waits for a lost disk. If all holders of
a lock run a `heartbeat`, such a lock expires like the note.

Two machines that take over from a third at the same moment may both get the lock. This must be
harmless: units are written atomically and are bit-identical whoever computes them.
"""

from __future__ import annotations

import json
import os
import platform
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from bnnbench.experiment.run_folder import RunFolder, UnitStore
from bnnbench.files import READ_ERRORS
from bnnbench.types import UserError

HEARTBEAT_INTERVAL = 10.0
"""Seconds between two touches of a note."""

EXPIRES_AFTER = 6 * HEARTBEAT_INTERVAL
"""Seconds after which an untouched note is ignored."""

POLL_INTERVAL = 0.2  # seconds
SUFFIX = ".holder"

_notes: set[Path] = set()
"""Notes of all locks that this process holds."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock.

    Attributes:
        host: the machine's name.
        pid: process number on that machine.
        since: time, ISO 8601 in UTC.
    """

    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


class LockTaken(Exception):
    """Another process holds the lock.

    Attributes:
        holder: description of that process.
    """

    def __init__(self, holder: Holder | None) -> None:
        self.holder = str(holder) if holder else "an unknown process"
        super().__init__(self.holder)


@contextmanager
def acquire(path: Path, timeout: float = 0.0, has_heartbeat: bool = False) -> Iterator[None]:
    """Hold a lock until the end of the block.

    Args:
        path: the lock file, which is not deleted; its note is deleted at the end.
        timeout: seconds to wait for the current holder.
        has_heartbeat: whether all holders run a `heartbeat`; a suspended one then loses the lock.

    Raises:
        LockTaken: if another process still holds it.
    """
    note, deadline = note_of(path), time.monotonic() + timeout
    lock = FileLock(path)
    _acquire_kernel_lock(lock, path, deadline, has_heartbeat)
    try:
        _write_note(path, note, deadline)
        _notes.add(note)
        yield
    finally:
        if note in _notes:
            _notes.discard(note)
            note.unlink(missing_ok=True)
        lock.release()


@contextmanager
def heartbeat() -> Iterator[None]:
    """Touch the notes of this process in a thread until the end of the block.

    Without it they expire after `EXPIRES_AFTER` seconds, enough to write tables and figures.
    """
    stop = threading.Event()
    thread = threading.Thread(target=_touch_notes, args=(stop,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def note_of(path: Path) -> Path:
    """Return the path of the note of a lock."""
    return path.with_name(f"{path.name}{SUFFIX}")


def read_note(note: Path) -> Holder | None:
    """Return the holder of a lock; None if there is none or the note is unreadable."""
    try:
        return Holder(**json.loads(note.read_text()))
    except READ_ERRORS:
        return None


def _acquire_kernel_lock(lock: FileLock, path: Path, deadline: float, has_heartbeat: bool) -> None:
    """Acquire the lock of the kernel, or ignore it if its holder is suspended."""
    note = note_of(path)
    while True:
        with suppress(Timeout):
            lock.acquire(timeout=max(0.0, min(1.0, deadline - time.monotonic())))
            return
        if has_heartbeat and _age(path, note) >= EXPIRES_AFTER:
            return
        if time.monotonic() >= deadline:
            raise LockTaken(read_note(note))


def _touch_notes(stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT_INTERVAL):
        for note in [*_notes]:
            with suppress(OSError):  # the folder may be unavailable for a moment
                os.utime(note)


def _write_note(path: Path, note: Path, deadline: float) -> None:
    """Write the note as soon as there is no valid note of another machine."""
    this_host = platform.node()
    ours = Holder(this_host, os.getpid(), datetime.now(UTC).isoformat(timespec="seconds"))
    while True:
        try:
            with note.open("x") as file:  # only one process can create it, also on NFS
                file.write(json.dumps(asdict(ours)))
            return
        except FileExistsError:
            theirs = read_note(note)
        except OSError:  # a full disk leaves an empty file
            note.unlink(missing_ok=True)
            raise
        # A note of this machine is stale: otherwise the kernel lock would still be held.
        if (theirs is not None and theirs.host == this_host) or _age(path, note) >= EXPIRES_AFTER:
            note.unlink(missing_ok=True)
        elif time.monotonic() >= deadline:
            raise LockTaken(theirs)
        else:
            time.sleep(POLL_INTERVAL)


def _age(path: Path, note: Path) -> float:
    """Return the seconds since a note was touched, by the clock of the file system."""
    try:
        os.utime(path)
        return path.stat().st_mtime - note.stat().st_mtime
    except FileNotFoundError:  # just deleted
        return 0.0


LOCK_TIMEOUT = 600.0
"""Seconds to wait for a process that is about to end, such as the orphan of a killed run, or that
writes tables; longer than the lock of a dead machine is valid."""


@contextmanager
def lock_units(store: UnitStore, units: Iterable[str]) -> Iterator[None]:
    """Lock these units.

    Raises:
        UserError: if another process works on one of them.
    """
    with ExitStack() as locks:
        for unit in units:
            locks.enter_context(_lock(store.folder, f"{unit}.lock", unit, timeout=0.0))
        yield


@contextmanager
def lock_group(store: UnitStore, unit: str) -> Iterator[None]:
    """Lock a group of units, after waiting for another process that works on it.

    An orphan of a killed run may finish its last evaluation, or an engine may have handed out the
    group twice. Call it within a `heartbeat`, since a suspended process loses its group.

    Args:
        store: of the run.
        unit: the first of the group.

    Raises:
        UserError: if that takes longer than `LOCK_TIMEOUT`.
    """
    store.folder.create()
    with _lock(store.folder, f"{unit}.working.lock", unit, has_heartbeat=True):
        yield


def lock_tables(folder: RunFolder) -> AbstractContextManager[None]:
    """Lock the tables of a run: processes with different units may finish at the same time.

    Raises:
        UserError: if another process holds the lock for longer than `LOCK_TIMEOUT`.
    """
    return _lock(folder, "tables.lock", "its tables")


@contextmanager
def _lock(
    folder: RunFolder,
    name: str,
    what: str,
    timeout: float = LOCK_TIMEOUT,
    has_heartbeat: bool = False,
) -> Iterator[None]:
    """Hold a lock in the folder `work` of a run until the end of the block."""
    with ExitStack() as locks:
        try:
            locks.enter_context(acquire(folder.work / name, timeout, has_heartbeat))
        except LockTaken as error:
            raise UserError(
                f"another bnnbench process is working in {folder.root} ({what}): {error.holder}; "
                "wait until it ends and repeat the command (the lock of a dead machine expires "
                f"after {EXPIRES_AFTER:.0f} s).",
                code="locked",
            ) from None
        yield
