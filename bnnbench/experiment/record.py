"""The record of a run: its kind, metadata, identity and code versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.types import UserError


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
    """Read `record.json`.

    Raises:
        UserError: if the file is missing or damaged.
    """
    try:
        return Record(**json.loads(folder.record.read_text()))
    except (OSError, ValueError, TypeError):
        raise UserError(
            f"{folder.record} is missing or damaged although the run is marked "
            f"{folder.done.name}; delete the folder and repeat the run.",
            code="damaged_record",
        ) from None
