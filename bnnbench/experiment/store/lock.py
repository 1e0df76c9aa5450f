"""Locks of units and tables, which the kernel releases when their process ends, also by `kill -9`.

Next to each lock is a note with its holder, only for the message to other processes.

Machines that share a folder may not see each other's locks (NFS with local locks) and may then
compute the same unit. This is harmless: units are written atomically and are bit-identical whoever
computes them.
"""

from __future__ import annotations

import errno
import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.files import READ_ERRORS, read_text
from bnnbench.notes import one_line
from bnnbench.types import UserError

LOCK_TIMEOUT = 600.0
"""Seconds to wait for a process that is about to end, such as the orphan of a killed run, or that
writes tables; longer than a server of NFS 4 keeps the lock of a dead machine."""

UNSUPPORTED = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)
"""Error numbers of a file system without locks."""


@contextmanager
def lock_units(store: UnitStore, units: Iterable[str]) -> Iterator[None]:
    """Lock these units.

    Raises:
        UserError: if another process works on one of them.
    """
    with ExitStack() as locks:
        for unit in units:
            locks.enter_context(_lock(store.folder, f"{unit}.lock", unit, 0.0))
        yield


def lock_group(store: UnitStore, unit: str) -> AbstractContextManager[None]:
    """Lock a group of units, after waiting for another process that works on it.

    An orphan of a killed run may finish its last evaluation, or an engine may have handed out the
    group twice.

    Args:
        store: of the run.
        unit: the first of the group.

    Raises:
        UserError: if that takes longer than `LOCK_TIMEOUT`.
    """
    store.folder.create()
    return _lock(store.folder, f"{unit}.working.lock", unit, LOCK_TIMEOUT)


def lock_tables(folder: RunFolder) -> AbstractContextManager[None]:
    """Lock the tables of a run: processes with different units may finish at the same time.

    Raises:
        UserError: if another process holds the lock for longer than `LOCK_TIMEOUT`.
    """
    return _lock(folder, "tables.lock", "its tables", LOCK_TIMEOUT)


def note_of(path: Path) -> Path:
    """Return the path of the note of a lock."""
    return path.with_name(f"{path.name}.holder")


@contextmanager
def _lock(folder: RunFolder, name: str, what: str, timeout: float) -> Iterator[None]:
    """Hold a lock in the folder `work` of a run until the end of the block.

    The file of the lock is not deleted, which would let two processes lock different files.
    """
    path = folder.work / name
    note = note_of(path)
    with ExitStack() as locks:
        try:
            locks.enter_context(FileLock(path, timeout=timeout))
        except Timeout:
            raise UserError(
                f"another bnnbench process is working in {folder.root} ({what}): {_holder(note)}; "
                "wait until it ends and repeat the command.",
                code="locked",
            ) from None
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno not in UNSUPPORTED:
                raise
            raise UserError(
                f"outputs_dir: the file system of {folder.root} does not support locks; choose a "
                "folder on another file system with outputs_dir=DIR.",
                "outputs_dir",
                "no_locks",
            ) from None
        try:
            note.write_text(f"process {os.getpid()} on {platform.node()}", "utf-8")
            yield
        finally:
            note.unlink(missing_ok=True)


def _holder(note: Path) -> str:
    """Return the text of a note."""
    try:
        return one_line(read_text(note))
    except (OSError, *READ_ERRORS):
        return "an unknown process"
