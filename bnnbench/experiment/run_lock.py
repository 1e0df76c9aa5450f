"""Locks on the units and on the tables of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from bnnbench.experiment.lock import EXPIRES_AFTER, LockTaken, acquire
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.types import UserError

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
            try:
                locks.enter_context(acquire(store.file(unit, "lock")))
            except LockTaken as error:
                raise _user_error(store.folder, unit, error) from None
        yield


@contextmanager
def lock_group(stores: Sequence[UnitStore], unit: str) -> Iterator[None]:
    """Lock a group of units of some runs, after waiting for another process that works on it.

    An orphan of a killed run may finish its last evaluation, or an engine may have handed out the
    group twice. Runs are locked in a fixed order, which rules out deadlocks. Call it within a
    `heartbeat`, since a suspended process loses its group.

    Args:
        stores: of the runs.
        unit: the first of the group.

    Raises:
        UserError: if that takes longer than `LOCK_TIMEOUT`.
    """
    with ExitStack() as locks:
        for store in sorted(stores, key=lambda store: store.folder.root):
            store.folder.create()
            try:
                path = store.file(unit, "working.lock")
                locks.enter_context(acquire(path, LOCK_TIMEOUT, has_heartbeat=True))
            except LockTaken as error:
                raise _user_error(store.folder, unit, error) from None
        yield


@contextmanager
def lock_tables(folder: RunFolder) -> Iterator[None]:
    """Lock the tables of a run: processes with different units may finish at the same time.

    Raises:
        UserError: if another process holds the lock for longer than `LOCK_TIMEOUT`.
    """
    with ExitStack() as locks:
        try:
            locks.enter_context(acquire(folder.work / "tables.lock", LOCK_TIMEOUT))
        except LockTaken as error:
            raise _user_error(folder, "its tables", error) from None
        yield


def _user_error(folder: RunFolder, locked: str, error: LockTaken) -> UserError:
    return UserError(
        f"another bnnbench process is working in {folder.root} ({locked}): {error.holder}; wait "
        "until it ends and repeat the command (the lock of a dead machine expires after "
        f"{EXPIRES_AFTER:.0f} s).",
        code="locked",
    )
