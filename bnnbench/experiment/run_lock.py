"""Who may work on what: a unit by one process, the tables of a run by one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from bnnbench.experiment.lease import LAPSES, Held, held
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.types import UserError

PATIENCE = 600.0
"""Seconds to wait for a process that is about to end, as the orphan of a killed run is, or that
writes tables; more than another machine needs to be taken for gone."""


@contextmanager
def claimed(store: UnitStore, units: Iterable[str]) -> Iterator[None]:
    """Keeps other processes from these units; those of others are theirs.

    Raises:
        UserError: if another process works on one of them.
    """
    with ExitStack() as locks:
        for unit in units:
            try:
                locks.enter_context(held(store.file(unit, "lock")))
            except Held as other:
                raise _taken(store.folder, unit, other) from None
        yield


@contextmanager
def working(stores: Sequence[UnitStore], unit: str) -> Iterator[None]:
    """Waits for whoever still works on a group of units of some runs, then keeps it.

    An orphan of a killed run may be on its last evaluation, or an engine may have handed the group
    out twice. In one order everywhere, so that two sweeps cannot wait for each other. To be called
    while this process is `beating`, since one that stands still loses its group to who waits.

    Args:
        stores: of the runs.
        unit: the first of the group.

    Raises:
        UserError: if that takes longer than `PATIENCE`.
    """
    with ExitStack() as locks:
        for store in sorted(stores, key=lambda store: store.folder.root):
            store.folder.create()
            try:
                locks.enter_context(held(store.file(unit, "working.lock"), PATIENCE, beats=True))
            except Held as other:
                raise _taken(store.folder, unit, other) from None
        yield


@contextmanager
def assembling(folder: RunFolder) -> Iterator[None]:
    """For writing the tables of a run: processes with different units may end at once.

    Raises:
        UserError: if another one takes longer than `PATIENCE` over it.
    """
    with ExitStack() as locks:
        try:
            locks.enter_context(held(folder.work / "tables.lock", PATIENCE))
        except Held as other:
            raise _taken(folder, "its tables", other) from None
        yield


def _taken(folder: RunFolder, what: str, other: Held) -> UserError:
    return UserError(
        f"another bnnbench process is working in {folder.root} ({what}): {other.holder}; wait for "
        "it, then give the same command again; if its machine is gone, that is free within "
        f"{LAPSES:.0f} s."
    )
