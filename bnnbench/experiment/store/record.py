"""The record of a run, `record.json`: what was run, and with which settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bnnbench.experiment.store.provenance import distinct_versions
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import UNREADABLE, is_plain, read_json, reading
from bnnbench.experiment.store.unit_store import NAME, UnitStore
from bnnbench.files import check_regular_files, write_text
from bnnbench.types import UserError

TRIAL = "trial"
"""Label of the protocol whose runs are not results."""


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
    """Read `record.json`. Its strings may contain control characters, which renderers escape.

    Raises:
        UserError: if the file is missing or damaged.
        OSError: if it cannot be read.
    """
    check_regular_files(folder.root)
    with reading(folder.record, "is missing or damaged"):
        record = Record(**read_json(folder.record))
        keys = [key for key in ("experiment", "dataset", "method") if key in record.metadata]
        texts = (record.kind, record.digest, *(record.metadata[key] for key in keys))
        if not (all(map(NAME.fullmatch, texts)) and _has_types(record)):
            raise ValueError
    return record


def _has_types(record: Record) -> bool:
    """Whether a record consists of plain values where it should."""
    codes = record.code_versions
    mappings = [record.metadata, record.identity, *codes]
    return (
        isinstance(codes, list | tuple)
        and all(isinstance(one, dict) for one in mappings)
        and all(map(_is_setting, record.metadata.values()))
        and all(map(_is_component, (record.identity, *codes)))
    )


def _is_component(value: Any) -> bool:
    """Whether a value is a setting, or a mapping of names to settings and components."""
    return (
        all(map(_is_component, value.values())) if isinstance(value, dict) else _is_setting(value)
    )


def _is_setting(value: Any) -> bool:
    """Whether a value is plain, or a list of settings."""
    return all(map(_is_setting, value)) if isinstance(value, list) else is_plain(value)


def stored_record(folder: RunFolder) -> Record | None:
    """Return `read_record`, or None if the file is missing or damaged."""
    try:
        return read_record(folder)
    except UserError as error:
        if error.code == UNREADABLE:
            raise
        return None


def code_versions_of(store: UnitStore, units: Iterable[str]) -> tuple[Mapping[str, Any], ...]:
    """Return the code versions that worked on some units, in the order of the units.

    If they are unknown for a unit, they are those of the stored record.
    """
    found = [store.codes(unit) for unit in units]
    stored = None if all(found) else stored_record(store.folder)
    known = stored.code_versions if stored else ()
    return distinct_versions(
        {name: value for name, value in code.items() if name != "native"}
        for codes in found
        for code in codes or known
    )


def updated_record(record: Record, store: UnitStore, started: Sequence[str] = ()) -> Record:
    """Return the record of a run with the code versions of its finished units.

    A run with units of another protocol is not a trial, even if others are computed as one.

    Args:
        record: of the run, with the version of this code.
        store: the units of the run.
        started: units that this code is about to compute, perhaps from files of another version.
    """
    units = store.units()
    codes = code_versions_of(store, [*units, *(unit for unit in started if store.codes(unit))])
    if started or not codes:
        codes = distinct_versions([*codes, *record.code_versions])
    stored = stored_record(store.folder) if units else None
    metadata = {**record.metadata}
    if stored and metadata.get("protocol") == TRIAL:
        metadata["protocol"] = stored.metadata.get("protocol", TRIAL)
    return replace(record, metadata=metadata, code_versions=codes)
