"""The record of a run: its kind, what names it in tables, and what makes it this run."""

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
    """What a run says of itself, in `record.json`.

    Attributes:
        kind: of experiment, which tells what tables it writes and which page shows them.
        digest: of the identity; no two different runs share it.
        names: columns that name the run in tables: plain values.
        identity: every setting that can change a number.
        codes: that its units were made by, of `code_of`, the last one last; one, unless the code
            was changed in the middle of the run.
    """

    kind: str
    digest: str
    names: Mapping[str, Any]
    identity: Mapping[str, Any]
    codes: Sequence[Mapping[str, Any]] = ()


def write_record(folder: RunFolder, record: Record) -> None:
    """Writes `record.json`."""
    write_text(folder.record, json.dumps(asdict(record), indent=1) + "\n")


def read_record(folder: RunFolder) -> Record:
    """Reads `record.json`.

    Raises:
        UserError: if the file is missing or not a record.
    """
    try:
        return Record(**json.loads(folder.record.read_text()))
    except (OSError, ValueError, TypeError):
        raise UserError(
            f"{folder.record} is missing or damaged although the run is marked "
            f"{folder.done.name}; remove its folder and run the experiment again."
        ) from None
