"""Add finished runs to reference results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.experiment.store.provenance import describe_other_code
from bnnbench.experiment.store.split_files import HYPER, SPLIT_KEY
from bnnbench.results.reference.archive import (
    ARCHIVE,
    FINGERPRINTS,
    RUNS,
    SPLITS,
    locked,
    read_archive,
    reading,
    write_archive,
)
from bnnbench.results.reference.results import (
    SPLIT_COLUMNS,
    find_folder,
    read_fingerprints,
    read_lines,
    read_rows,
)
from bnnbench.results.reference.run_folders import Candidate, read_run_folders
from bnnbench.types import UserError

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
    found = read_run_folders(paths, published)
    faults = list(found.faults)
    outcome: dict[str, list[str]] = {"added": [], "replaced": [], "unchanged": []}
    if found.runs:
        with locked(folder):
            exists = (folder / ARCHIVE).exists()
            content = read_content(folder) if exists else Content(published)
            for candidate in found.runs:
                try:
                    outcome[put(content, candidate)].append(candidate.line["run"])
                except UserError as error:
                    faults.append(str(error))
            if outcome["added"] or outcome["replaced"]:
                write_archive(folder, to_members(content))
    return Added(faults=faults, skipped=found.skipped, **outcome)


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


def put(content: Content, candidate: Candidate) -> str:
    """Put a run into reference results; return whether it was `added`, `replaced` or `unchanged`.

    A run under another label, with scores that are there already, changes nothing.

    Raises:
        UserError: if a run of this digest was computed by other code.
    """
    rows = candidate.rows
    line = {**candidate.line, "rows": rows_digest(rows)}
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
