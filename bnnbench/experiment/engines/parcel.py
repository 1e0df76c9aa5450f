"""Work on its way to another machine, and back.

A parcel holds no table: tables travel apart, once for each worker, however many parcels name them.
Parcels are pickles, and go only where whoever can send one may run code anyway.
"""

from __future__ import annotations

import io
import json
import pickle
import platform
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bnnbench.experiment.base import Member
from bnnbench.experiment.code import changes, code_of
from bnnbench.experiment.engines.work import Work
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.files import checksum, write_atomically
from bnnbench.types import Table, UserError

LIBRARIES = ("torch", "numpy", "scikit-learn", "scikit-optimize")
"""Whose version can change a number."""

Files = Mapping[str, bytes]
"""By their names in the folder of a run's pieces."""

_one_at_a_time = threading.Lock()
_same: set[str] = set()
"""The codes that are those of this process."""


@dataclass(frozen=True)
class Parcel:
    """Work, and what it may be computed with.

    Attributes:
        work: pickled, without its tables.
        tables: the names of those.
        versions: by library; no others may compute it.
        code: of `code_of`, of its first run's experiment.
        begun: where the folder is not shared, what each run of its row has of these units already;
            None where it is.
    """

    work: bytes
    tables: tuple[str, ...]
    versions: Mapping[str, str]
    code: Mapping[str, Any]
    begun: tuple[Files, ...] | None = None


class Sender:
    """What is found out once for all parcels: the tables that they name, the code of each run."""

    def __init__(self) -> None:
        """Has sent nothing."""
        self._names: dict[int, str] = {}
        self._tables: dict[str, list[Table]] = {}
        self._codes: dict[Path, dict[str, Any]] = {}

    def code(self, member: Member) -> dict[str, Any]:
        """Of `code_of`, of the experiment of a run."""
        place = member.store.folder.root
        if place not in self._codes:
            self._codes[place] = code_of(member.experiment)
        return self._codes[place]

    def name(self, table: Table) -> str:
        """The same for tables of the same content."""
        if id(table) not in self._names:
            name = checksum(pickle.dumps(table))
            self._names[id(table)] = name
            self._tables.setdefault(name, []).append(table)  # kept, so that its id stays its own
        return self._names[id(table)]

    def pickled(self, name: str) -> bytes:
        """What a worker is sent."""
        return pickle.dumps(self._tables[name][0])


class _WithoutTables(pickle.Pickler):
    def __init__(self, file: io.BytesIO, sender: Sender) -> None:
        super().__init__(file)
        self._sender, self.names = sender, dict[str, None]()

    def persistent_id(self, value: Any) -> str | None:
        if not isinstance(value, Table):
            return None
        name = self._sender.name(value)
        self.names[name] = None
        return name


class _WithTables(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tables: Mapping[str, bytes]) -> None:
        super().__init__(file)
        self._tables = tables

    def persistent_load(self, name: Any) -> Table:
        return _table(self._tables[name])


@lru_cache(maxsize=8)
def _table(pickled: bytes) -> Table:
    table = pickle.loads(pickled)
    assert isinstance(table, Table)
    return table


@cache
def versions() -> dict[str, str]:
    """Of what can change a number, here."""
    return {name: version(name) for name in LIBRARIES}


def packed(work: Work, sender: Sender, shared: bool) -> Parcel:
    """A parcel of work that is to be done elsewhere.

    Args:
        work: what is to be done.
        sender: gets to know the tables that the parcel needs.
        shared: whether its folders are the same there.
    """
    # An experiment that is made anew does not hold what it had worked out of its table.
    bare = replace(work, row=tuple(Member(replace(m.experiment), m.store) for m in work.row))
    file = io.BytesIO()
    pickler = _WithoutTables(file, sender)
    pickler.dump(bare)
    begun = None if shared else tuple(_files(m.store, work.group) for m in work.row)
    code = sender.code(work.row[0])
    return Parcel(file.getvalue(), tuple(pickler.names), versions(), code, begun)


def compute(parcel: Parcel, tables: Mapping[str, bytes], own_cores: int = 1) -> tuple[Files, ...]:
    """Does the work of a parcel, on the machine that it has come to.

    Args:
        parcel: of `packed`.
        tables: pickled, by their names.
        own_cores: that nobody else uses, for a lockstep experiment.

    Returns:
        What every run of its row has of these units then; nothing where the folder is shared.

    Raises:
        UserError: if this machine has other versions or other code, or may not write.
        OSError: what this machine refuses, with its name and the file's.
    """
    _check_versions(parcel.versions)
    work = _WithTables(io.BytesIO(parcel.work), tables).load()
    _check_code(parcel.code, work.row[0].experiment)
    place = str(work.row[0].store.folder.root)
    with ExitStack() as aside, _one_at_a_time:  # threads of one process would share its cores
        try:
            if parcel.begun is None:
                work.run(own_cores)
                return ()
            place = aside.enter_context(tempfile.TemporaryDirectory(prefix="bnnbench-"))
            moved = _moved(work, Path(place), parcel.begun)
            moved.run(own_cores)
            return tuple(_files(member.store, work.group) for member in moved.row)
        except UserError as error:
            raise UserError(f"{platform.node()}: {error}") from None
        except OSError as error:
            where = f"{platform.node()}: {error.filename or place}"
            raise OSError(error.errno, error.strerror, where) from None


def unpack(work: Work, files: tuple[Files, ...]) -> None:
    """Puts what has come back where it belongs; of a unit that is there already nothing."""
    for member, found in zip(work.row, files, strict=True):
        for unit in work.group:
            if not member.store.finished(unit):
                # Last, since it is what says that the unit is finished.
                for name in sorted(_of(unit, found), key=lambda name: name == f"{unit}.json"):
                    _write(member.store.folder.work / name, found[name])


def _moved(work: Work, folder: Path, begun: tuple[Files, ...]) -> Work:
    """The same work in folders of its own, with what there was before."""
    row = []
    for number, (member, files) in enumerate(zip(work.row, begun, strict=True)):
        store = UnitStore(RunFolder(folder / str(number)))
        store.folder.create()
        for name, content in files.items():
            (store.folder.work / name).write_bytes(content)
        row.append(Member(member.experiment, store))
    return replace(work, row=tuple(row))


def _files(store: UnitStore, units: tuple[str, ...]) -> Files:
    paths = [path for unit in units for path in store.folder.work.glob(f"{unit}.*")]
    return {path.name: path.read_bytes() for path in paths if ".lock" not in path.suffixes}


def _of(unit: str, files: Files) -> list[str]:
    return [name for name in files if name.startswith(f"{unit}.")]


def _write(path: Path, content: bytes) -> None:
    write_atomically(path, lambda file: file.write(content))


def _check_versions(wanted: Mapping[str, str]) -> None:
    here = versions()
    other = [
        f"{name} {here[name]} and not {wanted[name]}"
        for name in wanted
        if here[name] != wanted[name]
    ]
    if other:
        raise UserError(
            f"{platform.node()} has {', '.join(other)}; every machine needs the same versions, so "
            "that all numbers are of one kind."
        )


def _check_code(wanted: Mapping[str, Any], experiment: Any) -> None:
    """Refuses what other code would compute; that of a run is compared once in this process."""
    name = checksum(json.dumps(wanted, sort_keys=True).encode())
    if name in _same:
        return
    other = changes(wanted, code_of(experiment))
    if other:
        raise UserError(
            f"{platform.node()} has another {', '.join(other)} than this machine; install the same "
            "bnnbench there."
        )
    _same.add(name)
