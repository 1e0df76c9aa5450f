"""The record of a run, `record.json`: what was run, and with which settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from bnnbench.experiment.provenance import describe_other_code
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.stored_files import is_plain, read_json, reading
from bnnbench.experiment.unit_store import NAME, UnitStore
from bnnbench.files import check_regular_files, write_text
from bnnbench.types import UserError

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
    """Read `record.json`. Its texts may contain control characters, which renderers escape.

    Raises:
        UserError: if the file is missing or damaged.
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
        and all(_is_setting(value) for one in (record.metadata, *codes) for value in one.values())
        and _is_component(record.identity)
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
    except UserError:
        return None


def updated_record(record: Record, store: UnitStore) -> Record:
    """Return the record of a run that also lists the code versions of its existing units.

    A run with units of another protocol is no trial, also if some units are computed as one.
    """
    stored = stored_record(store.folder) if store.units() else None
    if stored is None:
        return record
    before = stored.code_versions
    new = [
        version
        for version in record.code_versions
        if all(describe_other_code(old, version) for old in before)
    ]
    metadata = {**record.metadata}
    if metadata.get("protocol") == TRIAL:
        metadata["protocol"] = stored.metadata.get("protocol", TRIAL)
    return replace(record, metadata=metadata, code_versions=(*before, *new))
