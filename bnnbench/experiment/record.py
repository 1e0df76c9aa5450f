"""The record of a run, `record.json`: what was run, and with which settings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bnnbench.experiment.code_version import distinct_versions
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.files import READ_ERRORS, check_regular_files, read_text, write_text
from bnnbench.types import UserError

NAME = re.compile(r"[\w.+-]{1,100}")
"""Names of experiments, data sets and methods; they become names of files, and text in LaTeX."""

TRIAL = "trial"
"""Label of the protocol whose runs are no results."""


@dataclass(frozen=True)
class Record:
    """The content of `record.json`.

    Attributes:
        kind: of experiment, which determines its tables and page.
        digest: hash of the identity, unique to the run.
        metadata: columns that describe the run in tables.
        identity: every setting that can change a result.
        code_versions: code versions that computed its units, from `code_version_of`; several only
            if the code changed during the run.
    """

    kind: str
    digest: str
    metadata: Mapping[str, Any]
    identity: Mapping[str, Any]
    code_versions: Sequence[Mapping[str, Any]] = ()


def write_record(folder: RunFolder, record: Record) -> None:
    write_text(folder.record, json.dumps(asdict(record), indent=1) + "\n")


def read_record(folder: RunFolder) -> Record:
    """Read `record.json`. Its texts may contain control characters, which renderers escape.

    Raises:
        UserError: if the file is missing or damaged.
        OSError: if it cannot be read.
    """
    try:
        check_regular_files(folder.root)
        record = Record(
            **json.loads(read_text(folder.record), parse_float=_finite, parse_constant=_finite)
        )
        metadata = record.metadata
        names = [metadata[key] for key in ("experiment", "dataset", "method") if key in metadata]
        texts = (record.kind, record.digest, *names)
        if all(map(NAME.fullmatch, texts)) and isinstance(record.identity, Mapping):
            return record
    except UserError:
        raise
    except READ_ERRORS:
        pass
    raise UserError(
        f"{folder.record} is missing or damaged although the run is marked {folder.done.name}; "
        "delete the folder and repeat the run.",
        code="damaged_record",
    )


def _finite(number: str) -> float:
    """Return a number of a JSON file.

    Raises:
        ValueError: if it is not finite.
    """
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(number)
    return value


def stored_record(folder: RunFolder) -> Record | None:
    """Return `read_record`, or None if the file is missing or damaged."""
    try:
        return read_record(folder)
    except UserError:
        return None


def code_versions_of(store: UnitStore, units: Iterable[str]) -> tuple[Mapping[str, Any], ...]:
    """Return the code versions that worked on some units, in the order of the units.

    If they are unknown for a unit, they are those of the stored record.
    """
    stored = stored_record(store.folder)
    known = stored.code_versions if stored else ()
    return distinct_versions(code for unit in units for code in store.codes(unit) or known)


def updated_record(record: Record, store: UnitStore, started: Sequence[str] = ()) -> Record:
    """Return the record of a run with the code versions of its finished units.

    A run with units of another protocol is no trial, also if some units are computed as one.

    Args:
        record: of the run, with the version of this code.
        store: the units of the run.
        started: units that this code is about to compute, perhaps from files of another version.
    """
    units = store.units()
    codes = code_versions_of(store, units)
    if started or not codes:
        begun = (code for unit in started for code in store.codes(unit))
        codes = distinct_versions([*codes, *begun, *record.code_versions])
    stored = stored_record(store.folder) if units else None
    metadata = {**record.metadata}
    if stored and metadata.get("protocol") == TRIAL:
        metadata["protocol"] = stored.metadata.get("protocol", TRIAL)
    return replace(record, metadata=metadata, code_versions=codes)
