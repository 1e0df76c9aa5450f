"""Add finished runs to reference results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from bnnbench.experiment.store.provenance import describe_other_code, read_environment
from bnnbench.experiment.store.split_files import HYPER, KIND, SPLIT_KEY
from bnnbench.experiment.store.stored_files import unusable_run_error
from bnnbench.files import READ_ERRORS, pack_members, write_bytes
from bnnbench.notes import one_line, quantity
from bnnbench.results.read.run_files import VerifiedRun, read_verified
from bnnbench.results.read.run_tables import folders_below, metadata_row
from bnnbench.results.reference.results import (
    ARCHIVE,
    FINGERPRINTS,
    MEMBERS,
    RUNS,
    SPLIT_COLUMNS,
    SPLITS,
    find_folder,
    read_archive,
    read_fingerprints,
    read_lines,
    read_rows,
    reading,
)
from bnnbench.results.reference.tracks import fits_of, protocol_of, track_of, tuning_of
from bnnbench.types import UserError

LOCK, LOCK_TIMEOUT = ".add.lock", 600.0
"""Lock file of a folder, and the seconds that a writer waits for it."""

DIGITS = 7

ENVIRONMENT = ("processor", "cores", "platform", "python", "cuda", "commit", "versions")
"""Entries of `environment.json` that a line has."""


def read_run_folders(
    paths: Iterable[Path], published: pd.DataFrame
) -> tuple[list[tuple[Line, pd.DataFrame]], list[str], int]:
    """Read all finished runs at or below some folders that are on published splits.

    Args:
        paths: the folders.
        published: the published splits, `fingerprints.csv`.

    Returns:
        The runs that may be added: the line of each, without the digest of the rows, and its rows
        as text; a sentence for each run that may not; and the number of runs that are not on
        published splits.

    Raises:
        UserError: if a folder does not exist.
    """
    found, faults, skipped = list[tuple[Line, pd.DataFrame]](), list[str](), 0
    names = set(published["dataset"])
    for folder in (folder for path in paths for folder in folders_below(path)):
        try:
            run = read_verified(folder)
            metadata, settings = run.record.metadata, run.record.identity
            seeded = settings.get("dataset", {}).get("seeded_splits") is not None
            if run.record.kind != KIND or metadata["dataset"] not in names or seeded:
                skipped += 1
                continue
            rows = text_table(run.splits.assign(run=run.record.digest, dataset=metadata["dataset"]))
            if other := other_splits(rows, published):
                raise UserError(f"{folder.root}: {other}")
            found.append((line_of(run), rows))
        except UserError as error:
            faults.append(str(error))
        except READ_ERRORS as error:
            faults.append(str(unusable_run_error(folder.root, error)))
    return found, faults, skipped


def line_of(run: VerifiedRun) -> Line:
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


Line = dict[str, Any]
"""A line of `runs.jsonl`."""

Scores = tuple[str, str, frozenset[tuple[str, ...]]]
"""The method and the protocol of a run, and the scores of its splits."""


@dataclass
class Content:
    """The content of reference results while runs are added.

    Attributes:
        fingerprints: the published splits.
        lines: by run.
        rows: rows of splits as text, by run.
        scores: by run.
    """

    fingerprints: pd.DataFrame
    lines: dict[str, Line] = field(default_factory=dict)
    rows: dict[str, pd.DataFrame] = field(default_factory=dict)
    scores: dict[str, Scores] = field(default_factory=dict)


@dataclass(frozen=True)
class Added:
    """The outcome for each run.

    Attributes:
        added: digests of new runs.
        replaced: digests of runs that replaced rows of the same code.
        unchanged: digests of runs that were already present.
        faults: a sentence for each refused run.
        skipped: number of runs that are not on published splits.
    """

    added: Sequence[str]
    replaced: Sequence[str]
    unchanged: Sequence[str]
    faults: Sequence[str]
    skipped: int


def add(folder: Path, *paths: Path) -> Added:
    """Add finished runs to reference results.

    Args:
        folder: of the reference results, created if it does not exist.
        paths: folders of finished runs.

    Raises:
        UserError: if the reference results are damaged, or a folder has no finished runs.
    """
    source = folder if (folder / ARCHIVE).exists() else find_folder()
    with reading(source):
        published = read_fingerprints(read_archive(source))
    found, faults, skipped = read_run_folders(paths, published)
    outcome: dict[str, list[str]] = {"added": [], "replaced": [], "unchanged": []}
    if found:
        with locked(folder):
            exists = (folder / ARCHIVE).exists()
            content = read_content(folder) if exists else Content(published)
            for line, rows in found:
                try:
                    outcome[put(content, line, rows)].append(line["run"])
                except UserError as error:
                    faults.append(str(error))
            if outcome["added"] or outcome["replaced"]:
                write_archive(folder, to_members(content))
    return Added(faults=faults, skipped=skipped, **outcome)


def read_content(folder: Path) -> Content:
    """Read reference results as they are written.

    Raises:
        UserError: if they are damaged.
    """
    with reading(folder):
        members = read_archive(folder)
        lines = read_lines(members)
        rows = {str(run): group for run, group in read_rows(members).groupby("run")}
        scores = {run: _scores(lines[run], own) for run, own in rows.items()}
        return Content(read_fingerprints(members), lines, rows, scores)


def put(content: Content, line: Line, rows: pd.DataFrame) -> str:
    """Put a run into reference results; return whether it was `added`, `replaced` or `unchanged`.

    A run under another label, with scores that are there already, changes nothing.

    Raises:
        UserError: if a run of this digest was computed by other code.
    """
    line = {**line, "rows": rows_digest(rows)}
    run = line["run"]
    before = content.lines.get(run)
    scores = _scores(line, rows)
    known = before["rows"] == line["rows"] if before else scores in content.scores.values()
    if known:
        return "unchanged"
    if before and _other_code(before, line):
        metadata = line["record"]["metadata"]
        raise UserError(
            f"run {run} ({metadata['method']} on {metadata['dataset']}) already exists, from "
            "another version of the code; add it to another folder.",
            "code_versions",
            "other_code",
        )
    content.lines[run], content.rows[run], content.scores[run] = line, rows, scores
    return "replaced" if before else "added"


def _other_code(before: Line, line: Line) -> str:
    (old,), (new,) = (one["record"]["code_versions"] for one in (before, line))
    return describe_other_code(old, new)


def _scores(line: Line, rows: pd.DataFrame) -> Scores:
    columns = [*SPLIT_KEY, "rmse", "log_likelihood", "crps"]
    scores = frozenset(rows[columns].fillna("").itertuples(index=False, name=None))
    return line["record"]["metadata"]["method"], line["protocol"], scores


def rows_digest(rows: pd.DataFrame) -> str:
    """Return the SHA-256 of a run's rows as CSV with header, without its empty columns."""
    used = [name for name in rows if (rows[name] != "").any()]
    return hashlib.sha256(to_csv(rows[used]).encode()).hexdigest()


def to_members(content: Content) -> dict[str, bytes]:
    """Return the contents of the members of the archive by name."""
    rows = pd.concat(content.rows.values()).fillna("")
    hyper = sorted(name for name in rows if name.startswith(HYPER))
    rows = rows[[*SPLIT_COLUMNS, *hyper]].sort_values(["dataset", "run", "split"], key=sort_key)
    lines = [json.dumps(content.lines[run], sort_keys=True) for run in sorted(content.lines)]
    return {
        RUNS: ("\n".join(lines) + "\n").encode(),
        SPLITS: to_csv(rows).encode(),
        FINGERPRINTS: to_csv(content.fingerprints).encode(),
    }


def to_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV with header."""
    return str(table.to_csv(index=False, lineterminator="\n"))


def sort_key(column: pd.Series) -> pd.Series:
    """Sort split numbers as numbers."""
    return column.astype(int) if column.name == "split" else column


def write_archive(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Write the archive, or leave the old one if an error occurs.

    Args:
        folder: of the reference results, `locked`.
        contents: of `MEMBERS`.
    """
    members = {name: contents[name] for name in MEMBERS}
    write_bytes(folder / ARCHIVE, pack_members(members))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if it does not exist.

    Temporary files that a killed process left in it are deleted.

    Raises:
        UserError: if another process holds the lock for longer than `LOCK_TIMEOUT`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(folder / LOCK, timeout=LOCK_TIMEOUT))
        except Timeout:
            raise UserError(
                f"another bnnbench process is adding runs to {folder}; wait until it ends and "
                "repeat the command.",
                code="locked",
            ) from None
        for path in folder.glob(f".{ARCHIVE}.*"):
            path.unlink()
        yield
