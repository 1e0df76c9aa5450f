"""Read finished runs as runs that may be added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.experiment.store.provenance import read_environment
from bnnbench.experiment.store.split_files import HYPER, KIND, SPLIT_KEY
from bnnbench.experiment.store.stored_files import unusable_run_error
from bnnbench.files import READ_ERRORS
from bnnbench.notes import one_line, quantity
from bnnbench.results.read.run_files import VerifiedRun, read_verified
from bnnbench.results.read.run_tables import folders_below, metadata_row
from bnnbench.results.reference.results import SPLIT_COLUMNS
from bnnbench.results.reference.tracks import fits_of, protocol_of, track_of, tuning_of
from bnnbench.types import UserError

DIGITS = 7

ENVIRONMENT = ("processor", "cores", "platform", "python", "cuda", "commit", "versions")
"""Entries of `environment.json` that a line has."""


@dataclass(frozen=True)
class Candidate:
    """A run that may be added: its line without the digest of the rows, and its rows as text."""

    line: dict[str, Any]
    rows: pd.DataFrame


@dataclass
class Candidates:
    """The runs in some folders.

    Attributes:
        runs: those that may be added.
        faults: a sentence for each run that may not.
        skipped: number of runs that are not on published splits.
    """

    runs: list[Candidate] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    skipped: int = 0


def read_run_folders(paths: Iterable[Path], published: pd.DataFrame) -> Candidates:
    """Read all finished runs at or below some folders that are on published splits.

    Args:
        paths: the folders.
        published: the published splits, `fingerprints.csv`.

    Raises:
        UserError: if a folder does not exist.
    """
    found, names = Candidates(), set(published["dataset"])
    for folder in (folder for path in paths for folder in folders_below(path)):
        try:
            run = read_verified(folder)
            metadata, settings = run.record.metadata, run.record.identity
            seeded = settings.get("dataset", {}).get("seeded_splits") is not None
            if run.record.kind != KIND or metadata["dataset"] not in names or seeded:
                found.skipped += 1
                continue
            rows = text_table(run.splits.assign(run=run.record.digest, dataset=metadata["dataset"]))
            if other := other_splits(rows, published):
                raise UserError(f"{folder.root}: {other}")
            found.runs.append(Candidate(line_of(run), rows))
        except UserError as error:
            found.faults.append(str(error))
        except READ_ERRORS as error:
            found.faults.append(str(unusable_run_error(folder.root, error)))
    return found


def line_of(run: VerifiedRun) -> dict[str, Any]:
    """Return the line of a finished run.

    Raises:
        UserError: if its code changed while it ran, or native code was missing.
    """
    record, root = run.record, run.folder.root
    if len(record.code_versions) != 1:
        raise UserError(
            f"{root} was computed by {len(record.code_versions)} versions of the code; run all of "
            "it again with resume=false.",
            "code_versions",
            "several_codes",
        )
    missing = run.splits.get("native_code", pd.Series(dtype=object)) == "missing"
    if missing.any():
        raise UserError(
            f"{root}: {quantity(missing.sum(), 'split')} ran in torch, since there was no native "
            "code; run all of it again with resume=false where there is a C++ compiler.",
            "native_code",
            "no_native_code",
        )
    described = metadata_row(run.folder, record)
    tuning = tuning_of(described)
    found = read_environment(run.folder)
    machine = {name: found.get(name) for name in ENVIRONMENT}
    for name in ("host", "device"):
        machine[name] = ", ".join(sorted(run.splits[name].astype(str).unique()))
    return {
        "run": record.digest,
        "track": track_of(described, tuning),
        "protocol": protocol_of(described),
        "tuning": tuning,
        "fits": fits_of(described["settings"]),
        "bits": ", ".join(sorted(run.splits["bits"].unique())),
        "splits": len(run.splits),
        "environment": machine,
        "record": asdict(record),
    }


def text_table(splits: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a run as they are written: seven digits, sorted by split."""
    hyper = sorted(name for name in splits if name.startswith(HYPER))
    table = splits.sort_values("split").reindex(columns=[*SPLIT_COLUMNS, *hyper])
    return pd.DataFrame({name: [as_text(cell) for cell in table[name]] for name in table})


def as_text(cell: Any) -> str:
    """Return a cell as written: seven digits, empty if missing."""
    if isinstance(cell, float):
        return "" if pd.isna(cell) else format(cell, f".{DIGITS}g")
    return "" if cell is None else one_line(str(cell))


def other_splits(rows: pd.DataFrame, published: pd.DataFrame) -> str:
    """Describe the rows that are not on published splits; empty if there are none."""
    known = set(published[["dataset", *SPLIT_KEY]].itertuples(index=False, name=None))
    found = rows[["dataset", *SPLIT_KEY]].itertuples(index=False, name=None)
    other = [str(place) for place, row in enumerate(found, 1) if row not in known]
    if not other:
        return ""
    shown = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")
    return (
        f"row {shown} has other training or test rows than the published splits of "
        "fingerprints.csv; only those are added."
    )
