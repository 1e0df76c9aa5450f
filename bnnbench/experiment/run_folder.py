"""The folder of a run, `outputs/<experiment>/.../<variant>-<digest>`: its files and its units.

Each unit is saved atomically; the tables and arrays of the run are assembled from its units.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bnnbench.files import (
    READ_ERRORS,
    checksum,
    raise_disk_error,
    read_bytes,
    read_text,
    remove,
    write_atomically,
    write_text,
)
from bnnbench.notes import one_line
from bnnbench.paths import real_path
from bnnbench.types import UserError

NAME = re.compile(r"[\w.+-]{1,100}")
"""Names of experiments, data sets and methods; they become names of files, and text in LaTeX."""

FIGURE_FORMATS: Mapping[str, tuple[str, ...]] = {
    "png": ("png",),
    "pdf": ("pdf",),
    "both": ("png", "pdf"),
}
"""Formats of figures, with the suffixes of their files."""


@dataclass(frozen=True)
class Done:
    """The content of `DONE`, which marks a complete run.

    Attributes:
        finished: time, ISO 8601 in UTC.
        units: units in its tables, in order.
        files: checksums of its record and of every table and array file, by name.
        page: checksums of files that its page wrote and reports read; their numbers are also in
            other files.
        figures: names of the figures of its page; some may not have been drawn yet.
    """

    finished: str
    units: tuple[str, ...]
    files: Mapping[str, str]
    page: Mapping[str, str] = field(default_factory=dict)
    figures: tuple[str, ...] = ()


class Page(NamedTuple):
    """What the page of a run consists of.

    Attributes:
        files: names of its files that a report over many runs reads.
        figures: names of its figures; some may be drawn later.
    """

    files: Sequence[str] = ()
    figures: Sequence[str] = ()


@dataclass(frozen=True)
class RunFolder:
    """The files that every run has; tables and arrays depend on the experiment.

    The name of the folder ends in a digest of every setting that can change a result. Different
    settings therefore use different folders, and the same command always finds its own.
    """

    root: Path

    @property
    def record(self) -> Path:
        """The experiment and its settings."""
        return self.root / "record.json"

    @property
    def config(self) -> Path:
        """The composed configuration."""
        return self.root / "config.yaml"

    @property
    def environment(self) -> Path:
        """The software and hardware that computed the run."""
        return self.root / "environment.json"

    @property
    def done(self) -> Path:
        """The mark of a complete run, written last."""
        return self.root / "DONE"

    @property
    def work(self) -> Path:
        """The files of single units, from which an interrupted run resumes."""
        return self.root / "work"

    def table(self, name: str) -> Path:
        """`<name>.csv`."""
        return self.root / f"{name}.csv"

    def arrays(self, name: str) -> Path:
        """`<name>.npz`."""
        return self.root / f"{name}.npz"

    def figure(self, name: str, suffix: str) -> Path:
        """`figures/<name>.<suffix>`, suffix `png` or `pdf`."""
        return self.root / "figures" / f"{name}.{suffix}"

    def finished(self) -> Done | None:
        """Read `DONE`; None if it is missing or damaged."""
        try:
            self.check_files()
            mark = json.loads(read_text(self.done))
            files, page = dict(mark["files"]), dict(mark.get("page", {}))
            units, figures = tuple(mark["units"]), tuple(mark.get("figures", ()))
            datetime.fromisoformat(mark["finished"])
        except READ_ERRORS:
            return None
        names = (*files, *page, *units, *figures)
        plain = all(isinstance(name, str) and name.isprintable() for name in names)
        if not plain or any("/" in name or name == ".." for name in names):
            return None
        return Done(mark["finished"], units, files, page, figures)

    def check_files(self) -> None:
        """Check that the folder contains only files and folders, none elsewhere through a link.

        A received folder may contain a pipe, whose reading never ends, or a link to a folder of the
        user, into which a report would write.

        Raises:
            UserError: for the first other file.
        """
        root = real_path(self.root)
        for folder, folders, files in os.walk(root):
            for path in (Path(folder, name) for name in (*folders, *files)):
                target = real_path(path)  # also of a link to itself
                leaves = path.is_symlink() and not target.is_relative_to(root)
                if leaves or _is_special(path):
                    kind = "a link out of its folder" if leaves else "a pipe or a device"
                    raise UserError(f"{path} is {kind}; delete it.", path.name, "irregular_file")

    def write_done(self, done: Done) -> None:
        """Write `DONE`."""
        write_text(self.done, json.dumps(asdict(done)) + "\n")

    def checksums(self, names: Iterable[str]) -> dict[str, str]:
        """Return the checksums of these files by name, without unreadable files."""
        checksums = {name: self._checksum(name) for name in names}
        return {name: checked for name, checked in checksums.items() if checked}

    def damaged(self, checksums: Mapping[str, str]) -> list[str]:
        """Return the names of the files that do not have these checksums."""
        return [name for name, expected in checksums.items() if self._checksum(name) != expected]

    def _checksum(self, name: str) -> str | None:
        try:
            return checksum(read_bytes(self.root / name))
        except OSError:
            return None

    def create(self) -> None:
        """Create the folder.

        Raises:
            UserError: if it is not writable.
        """
        self.check_files()
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise UserError(
                f"outputs_dir: cannot write to {self.root} ({error.strerror}); "
                "choose a writable folder with outputs_dir=DIR.",
                "outputs_dir",
            ) from None


def _is_special(path: Path) -> bool:
    """Whether a path is a pipe, a device or a socket; False if it has just been removed."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def read_environment(folder: RunFolder) -> dict[str, Any]:
    """Read `environment.json`; empty if it is missing or damaged, since no result depends on it."""
    try:
        return dict(json.loads(read_text(folder.environment)))
    except READ_ERRORS as error:
        raise_disk_error(error)
        return {}


def finished_runs(path: Path) -> Iterator[RunFolder]:
    """Yield every complete run in or below `path`, in path order."""
    for done in sorted(path.rglob("DONE")):
        yield RunFolder(done.parent)


@dataclass(frozen=True)
class Record:
    """The content of `record.json`.

    Attributes:
        kind: of experiment, which determines its tables and page.
        digest: hash of the identity, unique to the run.
        metadata: columns that describe the run in tables.
        identity: every setting that can change a result.
        code_versions: code versions that computed its units, from `code_version_of`, the latest
            last; several only if the code changed during the run.
    """

    kind: str
    digest: str
    metadata: Mapping[str, Any]
    identity: Mapping[str, Any]
    code_versions: Sequence[Mapping[str, Any]] = ()


def write_record(folder: RunFolder, record: Record) -> None:
    write_text(folder.record, json.dumps(asdict(record), indent=1) + "\n")


def read_record(folder: RunFolder) -> Record:
    """Read `record.json`. Control characters in its texts are escaped.

    Raises:
        UserError: if the file is missing or damaged.
    """
    try:
        folder.check_files()
        record = Record(**_printable(json.loads(read_text(folder.record))))
        metadata = record.metadata
        names = [metadata[key] for key in ("experiment", "dataset", "method") if key in metadata]
        texts = (record.kind, record.digest, *names)
        if all(map(NAME.fullmatch, texts)) and isinstance(record.identity, Mapping):
            return record
    except UserError:
        raise
    except READ_ERRORS as error:
        raise_disk_error(error)
    raise UserError(
        f"{folder.record} is missing or damaged although the run is marked {folder.done.name}; "
        "delete the folder and repeat the run.",
        code="damaged_record",
    )


def _printable(value: Any) -> Any:
    """Return a JSON value with printable texts.

    Raises:
        ValueError: if a number is not finite.
    """
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, Mapping):
        return {one_line(key): _printable(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_printable(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(value)
    return value


def find_run(path: Path) -> RunFolder:
    """Return the only finished run at or below a folder.

    Raises:
        UserError: if there is none, or more than one.
    """
    if not path.is_dir():
        raise UserError(
            f"{path} is not a folder; give the run folder that `bnnbench run` printed last.",
            "RUN",
            "not_a_folder",
        )
    found = list(finished_runs(path))
    if not found:
        raise UserError(f"no finished run at or below {path}.", "RUN", "no_run")
    if len(found) > 1:
        raise UserError(
            f"{path} contains {len(found)} finished runs; give the folder of one, such as "
            f"{found[0].root}.",
            "RUN",
            "several_runs",
        )
    found[0].check_files()
    return found[0]


Rows = Sequence[Mapping[str, Any]]
Arrays = Mapping[str, np.ndarray]
UnitResults = tuple[Mapping[str, Rows], Mapping[str, Arrays]]
"""The tables and the arrays of a unit, by name."""


@dataclass(frozen=True)
class Assembled:
    """The tables and arrays written from all units.

    Attributes:
        units: in order.
        files: checksum of every table and array file, by name.
    """

    units: list[str]
    files: dict[str, str]


@dataclass(frozen=True)
class UnitStore:
    """The units of a run, in its folder."""

    folder: RunFolder

    def file(self, unit: str, suffix: str) -> Path:
        """Return the path of a unit's file, such as a checkpoint of the experiment."""
        return self.folder.work / f"{unit}.{suffix}"

    def finished(self, unit: str) -> bool:
        """Whether the unit was saved."""
        return self.file(unit, "json").exists()

    def units(self) -> list[str]:
        """Return all finished units, of earlier commands too, in numerical order."""
        names = (path.stem for path in self.folder.work.glob("*.json"))
        # Names with a dot are files of the experiment.
        return sorted((n for n in names if "." not in n), key=lambda name: (len(name), name))

    def save(self, unit: str, tables: Mapping[str, Rows], arrays: Mapping[str, Arrays]) -> None:
        """Save a finished unit.

        Args:
            unit: its name.
            tables: rows of plain values, by name of the table.
            arrays: named arrays, by name of the file; units are concatenated along the first axis.
        """
        sums = {}
        for name, members in arrays.items():
            path = self.file(unit, f"{name}.npz")
            _write_arrays(path, members)
            sums[name] = checksum(read_bytes(path))
        # Last, because this file marks the unit as finished.
        piece = {"tables": tables, "arrays": sums}
        sealed = {"checksum": _seal(piece), **piece}
        write_text(self.file(unit, "json"), json.dumps(sealed, indent=1))

    def rows(self, unit: str, table: str) -> Rows:
        """Return the rows of a finished unit in a table; empty if its file is damaged."""
        try:
            return list(json.loads(read_text(self.file(unit, "json")))["tables"][table])
        except READ_ERRORS:
            return []

    def intact(self, unit: str) -> bool:
        """Whether the files of a finished unit match their checksums."""
        try:
            piece = json.loads(read_text(self.file(unit, "json")))
            sealed = piece.pop("checksum") == _seal(piece)
            files = {name: self.file(unit, f"{name}.npz") for name in piece["arrays"]}
            return sealed and all(
                checksum(read_bytes(files[name])) == expected
                for name, expected in piece["arrays"].items()
            )
        except READ_ERRORS:
            return False

    def discard(self, units: Sequence[str]) -> None:
        """Delete all files of some units, except their locks."""
        for unit in units:
            # First the file that marks the unit as finished.
            remove(self.file(unit, "json"))
            for path in self.folder.work.glob(f"{unit}.*"):
                if ".lock" not in path.suffixes:
                    remove(path)

    def assemble(self) -> Assembled:
        """Write the tables of all finished units, and the arrays that all of them have."""
        units, written = self.units(), []
        pieces = [json.loads(read_text(self.file(unit, "json"))) for unit in units]
        for name in dict.fromkeys(name for piece in pieces for name in piece["tables"]):
            rows = [row for piece in pieces for row in piece["tables"].get(name, ())]
            if rows:
                # Shortest exact representation: reading the file back gives the same bits.
                write_text(self.folder.table(name), pd.DataFrame(rows).to_csv(index=False))
                written.append(self.folder.table(name))
        for name in pieces[0]["arrays"] if pieces else ():
            if not all(name in piece["arrays"] for piece in pieces):
                continue
            parts = [self.file(unit, f"{name}.npz") for unit in units]
            _write_arrays(self.folder.arrays(name), _joined(parts))
            written.append(self.folder.arrays(name))
        return Assembled(units, {path.name: checksum(read_bytes(path)) for path in written})


def _seal(piece: Mapping[str, Any]) -> str:
    return checksum(json.dumps(piece).encode())


def _joined(parts: Sequence[Path]) -> Arrays:
    pieces = []
    for path in parts:
        with np.load(path) as piece:
            pieces.append({name: piece[name] for name in piece.files})
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _write_arrays(path: Path, arrays: Arrays) -> None:
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
