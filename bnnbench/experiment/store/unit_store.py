"""The units of a run, each saved atomically, from which its tables and arrays are assembled."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import is_plain, read_arrays, read_json
from bnnbench.files import (
    READ_ERRORS,
    checksum,
    read_bytes,
    remove,
    write_atomically,
    write_text,
)
from bnnbench.types import UserError

NAME = re.compile(r"[\w.+-]{1,100}")
"""Names of experiments, data sets, methods, tables and arrays; they become names of files, and text
in LaTeX."""

Rows = Sequence[Mapping[str, Any]]


Arrays = Mapping[str, np.ndarray]


CODE = "code.json"
"""Suffix of the file with the versions of the code that worked on a unit."""

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

    def started(self) -> list[str]:
        """Return all units that some code has worked on, finished or not."""
        ending = f".{CODE}"
        return sorted(
            path.name.removesuffix(ending) for path in self.folder.work.glob(f"*{ending}")
        )

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

    def codes(self, unit: str) -> list[Mapping[str, Any]]:
        """Return the versions of the code that worked on a unit; empty if they are unknown."""
        file = self.file(unit, CODE)
        try:
            codes = read_json(file) if file.exists() else []
        except READ_ERRORS:
            return []
        valid = isinstance(codes, list) and all(isinstance(code, dict) for code in codes)
        return codes if valid else []

    def add_code(self, unit: str, code: Mapping[str, Any]) -> None:
        """Note that a version of the code works on a unit, from the start or from its files.

        Args:
            unit: its name.
            code: from `code_version_of`, with `native`, whether native code was available.
        """
        codes = self.codes(unit)
        if code not in codes:
            write_text(self.file(unit, CODE), json.dumps([*codes, code]) + "\n")

    def rows(self, unit: str, table: str) -> Rows:
        """Return the rows of a finished unit in a table; empty if its file is damaged."""
        try:
            return self._tables_and_sums(unit)[0].get(table, ())
        except READ_ERRORS:
            return ()

    def intact(self, unit: str) -> bool:
        """Whether the files of a finished unit can be read and match their checksums."""
        try:
            _, sums = self._tables_and_sums(unit)
            for name, expected in sums.items():
                path = self.file(unit, f"{name}.npz")
                if checksum(read_bytes(path)) != expected:
                    return False
                read_arrays(path)
        except READ_ERRORS:
            return False
        return True

    def _tables_and_sums(self, unit: str) -> tuple[dict[str, Rows], dict[str, str]]:
        """Return the tables of a finished unit, and the checksums of its array files by name.

        Raises:
            Exception: one of `READ_ERRORS`, if its JSON file is damaged.
        """
        piece = read_json(self.file(unit, "json"), finite=False)
        if piece.pop("checksum") != _seal(piece):
            raise ValueError(unit)
        tables, sums = dict(piece["tables"]), dict(piece["arrays"])
        rows = [dict(row) for table in tables.values() for row in table]
        cells = [cell for row in rows for cell in row.values()]
        if not all(map(is_plain, cells)) or not all(map(NAME.fullmatch, [*tables, *sums])):
            raise ValueError(unit)
        return tables, sums

    def discard(self, units: Sequence[str]) -> None:
        """Delete all files of some units, except their locks."""
        for unit in units:
            # First the file that marks the unit as finished; last the list of code versions.
            remove(self.file(unit, "json"))
            code = self.file(unit, CODE)
            for path in self.folder.work.glob(f"{unit}.*"):
                if ".lock" not in path.suffixes and path != code:
                    remove(path)
            remove(code)

    def _parts(self, unit: str) -> list[Path]:
        """Return the files that code computed: no locks, jobs or list of code versions."""
        files = self.folder.work.glob(f"{unit}.*")
        others = (f"{unit}.{CODE}", f"{unit}.slurm")
        return [f for f in files if ".lock" not in f.suffixes and not f.name.startswith(others)]

    def discard_unknown(self, unit: str) -> None:
        """Delete the files of an unfinished unit if it is unknown which code wrote them."""
        if not self.codes(unit):
            for path in self._parts(unit):
                remove(path)

    def assemble(self) -> Assembled:
        """Write the tables of all finished units, and the arrays that all of them have.

        Raises:
            UserError: if the units are not those of one run.
        """
        try:
            return self._assembled()
        except OSError:
            raise
        except READ_ERRORS:
            raise UserError(
                f"the units in {self.folder.work} are inconsistent; run all of them again with "
                "resume=false.",
                code="damaged_units",
            ) from None

    def _assembled(self) -> Assembled:
        units, written = self.units(), []
        pieces = [self._tables_and_sums(unit) for unit in units]
        for name in dict.fromkeys(name for tables, _ in pieces for name in tables):
            rows = [row for tables, _ in pieces for row in tables.get(name, ())]
            if rows:
                # Shortest exact representation: reading the file back gives the same bits.
                write_text(self.folder.table(name), pd.DataFrame(rows).to_csv(index=False))
                written.append(self.folder.table(name))
        for name in pieces[0][1] if pieces else ():
            if not all(name in sums for _, sums in pieces):
                continue
            parts = [read_arrays(self.file(unit, f"{name}.npz")) for unit in units]
            _write_arrays(self.folder.arrays(name), joined(parts))
            written.append(self.folder.arrays(name))
        return Assembled(units, {path.name: checksum(read_bytes(path)) for path in written})


def _seal(piece: Mapping[str, Any]) -> str:
    return checksum(json.dumps(piece).encode())


def joined(pieces: Sequence[Arrays]) -> dict[str, np.ndarray]:
    """Concatenate arrays of the same names."""
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _write_arrays(path: Path, arrays: Arrays) -> None:
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
