"""The record of a run, `record.json`: what was run, and with which settings."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import READ_ERRORS, raise_disk_error, read_text, write_text
from bnnbench.notes import one_line
from bnnbench.types import UserError

NAME = re.compile(r"[\w.+-]{1,100}")
"""Names of experiments, data sets and methods; they become names of files, and text in LaTeX."""


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
