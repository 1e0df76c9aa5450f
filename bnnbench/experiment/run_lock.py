"""Who may work on what: a unit by one process, the tables of a run by one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from filelock import FileLock, Timeout

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.types import UserError


@contextmanager
def claimed(store: UnitStore, units: Iterable[str]) -> Iterator[None]:
    """Keeps other processes from these units; those of others are theirs.

    Raises:
        UserError: if another process works on one of them.
    """
    with ExitStack() as locks:
        for unit in units:
            try:
                locks.enter_context(FileLock(store.file(unit, "lock"), timeout=0))
            except Timeout:
                raise UserError(
                    f"another bnnbench process is working in {store.folder.root} ({unit}); "
                    "wait for it, then give the same command again."
                ) from None
        yield


@contextmanager
def working(stores: Sequence[UnitStore], unit: str) -> Iterator[None]:
    """Waits for whoever still works on a group of units of some runs, then keeps it.

    An orphan of a killed run may be on its last evaluation. In one order everywhere, so that two
    sweeps cannot wait for each other.

    Args:
        stores: of the runs.
        unit: the first of the group.
    """
    with ExitStack() as locks:
        for store in sorted(stores, key=lambda store: store.folder.root):
            store.folder.create()
            locks.enter_context(FileLock(store.file(unit, "working.lock")))
        yield


def assembling(folder: RunFolder) -> FileLock:
    """For writing the tables of a run: processes with different units may end at once."""
    return FileLock(folder.work / "tables.lock")
