"""Payloads: serialised tasks for other machines, and the files that come back.

A payload does not contain the table; each table is sent once to each worker. Payloads are pickles,
which can execute code: they must come only from someone who may run code on the worker anyway.
"""

from __future__ import annotations

import hashlib
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

from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.store.provenance import code_version_of, describe_other_code
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.files import checksum, write_bytes
from bnnbench.types import Table, UserError

LIBRARIES = ("torch", "numpy", "scikit-learn", "scikit-optimize")
"""Libraries whose version can change a result."""

Files = Mapping[str, bytes]
"""Contents of files in the folder `work` of a run, by name."""

_one_at_a_time = threading.Lock()
_accepted: set[str] = set()
"""Checksums of code versions that equal that of this process."""


@dataclass(frozen=True)
class Payload:
    """A serialised task with the versions that it requires.

    Attributes:
        task: pickled, without its tables.
        tables: names of the tables: the SHA-256 of each pickle.
        versions: required version of each library.
        code: required code version, from `code_version_of`.
        partial: existing files of these units; None if the folder is shared.
    """

    task: bytes
    tables: tuple[str, ...]
    versions: Mapping[str, str]
    code: Mapping[str, Any]
    partial: Files | None = None


class PayloadCache:
    """Caches what several payloads share: pickled tables and the code version of each run."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._tables: dict[str, list[Table]] = {}
        self._codes: dict[Path, dict[str, Any]] = {}

    def code(self, task: Task) -> dict[str, Any]:
        """Return the code version of a task's experiment."""
        root = task.store.folder.root
        if root not in self._codes:
            self._codes[root] = code_version_of(task.experiment)
        return self._codes[root]

    def name(self, table: Table) -> str:
        """Return the SHA-256 of a pickled table, under which workers find and check it."""
        if id(table) not in self._names:
            name = _sha256(pickle.dumps(table))
            self._names[id(table)] = name
            self._tables.setdefault(name, []).append(
                table
            )  # keep it alive, so that its id is not reused
        return self._names[id(table)]

    def pickled(self, name: str) -> bytes:
        """Return the pickled table of this name."""
        return pickle.dumps(self._tables[name][0])


class _TablePickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, cache: PayloadCache) -> None:
        super().__init__(file)
        self._cache, self.names = cache, dict[str, None]()

    def persistent_id(self, value: Any) -> str | None:
        if not isinstance(value, Table):
            return None
        name = self._cache.name(value)
        self.names[name] = None
        return name


class _TableUnpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, tables: Mapping[str, bytes]) -> None:
        super().__init__(file)
        self._tables = tables

    def persistent_load(self, name: Any) -> Table:
        return _table(name, self._tables[name])


@lru_cache(maxsize=8)
def _table(name: str, pickled: bytes) -> Table:
    """Return a table.

    Raises:
        UserError: if it is not the table that was submitted; it could execute code.
    """
    if _sha256(pickled) != name:
        raise UserError(
            "the submitted table was changed before it was read; repeat the command.",
            code="table_changed",
        )
    table = pickle.loads(pickled)
    assert isinstance(table, Table)
    return table


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@cache
def versions() -> dict[str, str]:
    """Return the version of each library on this machine."""
    return {name: version(name) for name in LIBRARIES}


def pack(task: Task, payload_cache: PayloadCache, shared: bool) -> Payload:
    """Serialise a task for another machine.

    Args:
        task: the task.
        payload_cache: remembers the tables that the payload names.
        shared: whether the other machine sees the same folders.
    """
    # A replaced experiment does not contain cached properties.
    bare = replace(task, experiment=replace(task.experiment))
    file = io.BytesIO()
    pickler = _TablePickler(file, payload_cache)
    pickler.dump(bare)
    partial = None if shared else _files(task)
    code = payload_cache.code(task)
    return Payload(file.getvalue(), tuple(pickler.names), versions(), code, partial)


def compute(payload: Payload, tables: Mapping[str, bytes], cores: int = 1) -> Files:
    """Compute a task on the machine that received it.

    Args:
        payload: from `pack`.
        tables: pickled tables by name.
        cores: cores that a lockstep experiment may use.

    Returns:
        The files of these units; empty if the folder is shared.

    Raises:
        UserError: if this machine has other versions or other code, or cannot write.
        OSError: with the names of this machine and of the file.
    """
    _check_versions(payload.versions)
    task = _TableUnpickler(io.BytesIO(payload.task), tables).load()
    _check_code(payload.code, task.experiment)
    folder = str(task.store.folder.root)
    with ExitStack() as temporary, _one_at_a_time:  # threads of one process would share its cores
        try:
            if payload.partial is None:
                task.run(cores)
                return {}
            folder = temporary.enter_context(tempfile.TemporaryDirectory(prefix="bnnbench-"))
            moved = _moved(task, Path(folder), payload.partial)
            moved.run(cores)
            return _files(moved)
        except UserError as error:
            message = f"{platform.node()}: {error}"
            raise UserError(message, error.setting, error.code) from None
        except OSError as error:
            where = f"{platform.node()}: {error.filename or folder}"
            raise OSError(error.errno, error.strerror, where) from None


def unpack(task: Task, files: Files) -> None:
    """Write the returned files of all units that are not finished yet."""
    for unit in task.units:
        if not task.store.finished(unit):
            # The JSON file last: it marks the unit as finished.
            names = [name for name in files if name.startswith(f"{unit}.")]
            for name in sorted(names, key=lambda name: name == f"{unit}.json"):
                write_bytes(task.store.folder.work / name, files[name])


def _moved(task: Task, folder: Path, partial: Files) -> Task:
    """Return the same task in another folder, which starts with the partial files."""
    store = UnitStore(RunFolder(folder))
    store.folder.create()
    for name, content in partial.items():
        (store.folder.work / name).write_bytes(content)
    return replace(task, store=store)


def _files(task: Task) -> Files:
    paths = [path for unit in task.units for path in task.store.folder.work.glob(f"{unit}.*")]
    return {path.name: path.read_bytes() for path in paths if ".lock" not in path.suffixes}


def _check_versions(required: Mapping[str, str]) -> None:
    installed = versions()
    other = [
        f"{name} {installed[name]} instead of {required[name]}"
        for name in required
        if installed[name] != required[name]
    ]
    if other:
        raise UserError(
            f"{platform.node()} has {', '.join(other)}; install the same versions there.",
            code="versions_differ",
        )


def _check_code(required: Mapping[str, Any], experiment: Any) -> None:
    """Raise `UserError` if the code of this machine differs; compared once per process."""
    name = checksum(json.dumps(required, sort_keys=True).encode())
    if name in _accepted:
        return
    other = describe_other_code(code_version_of(experiment), required)
    if other:
        raise UserError(
            f"{platform.node()} has {other}; install the same code there.", code="code_differs"
        )
    _accepted.add(name)
