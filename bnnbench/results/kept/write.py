"""Add finished runs to an edition, and write its files."""

from __future__ import annotations

import gzip
import hashlib
import json
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import read_environment
from bnnbench.experiment.split_files import KIND
from bnnbench.files import write_atomically, write_text
from bnnbench.results.kept.edition import (
    EDITION,
    FINGERPRINT_COLUMNS,
    FINGERPRINTS,
    RUNS,
    SPLIT_COLUMNS,
    SPLITS,
    SUMS,
    find_edition,
    read_lines,
    read_rows,
    sha256,
    verify,
)
from bnnbench.results.kept.tracks import TRACKS, TUNINGS, fits_of, protocol_of, track_of, tuning_of
from bnnbench.results.reader import folders_below, metadata_row
from bnnbench.results.verified_run import VerifiedRun, read_verified
from bnnbench.types import UserError

DIGITS = 7

ENVIRONMENT = ("processor", "cores", "platform", "python", "cuda", "commit", "versions")
"""Entries of `environment.json` that a line keeps."""

Line = dict[str, Any]
"""A line of `runs.jsonl.gz`."""


@dataclass
class Content:
    """The content of an edition while it is extended.

    Attributes:
        meta: of `edition.toml`, as text.
        fingerprints: the published splits.
        lines: by run.
        rows: rows of splits as text, by run.
    """

    meta: str
    fingerprints: pd.DataFrame
    lines: dict[str, Line] = field(default_factory=dict)
    rows: dict[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Added:
    """What became of the runs of a folder.

    Attributes:
        added: digests of new runs.
        replaced: digests of runs that replaced rows of the same code.
        unchanged: digests of runs that were already kept.
        refused: a sentence on each run that was refused.
        skipped: number of runs on data that the edition does not have.
    """

    added: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: tuple[str, ...]
    refused: tuple[str, ...]
    skipped: int


def add_runs(edition: Path, folder: Path, by: str, reference: str = "", tuning: str = "") -> Added:
    """Add all finished runs at or below a folder to an open edition, which is created if missing.

    Args:
        edition: its folder.
        folder: of the runs.
        by: who adds them.
        reference: of a paper, optional.
        tuning: one of `TUNINGS`; by default each run's settings determine it.

    Raises:
        UserError: if the edition is frozen or damaged, or the folder contains no finished run.
    """
    check_tuning(tuning)
    content = open_edition(edition)
    known = set(content.fingerprints["dataset"])
    outcome: dict[str, list[str]] = {"added": [], "replaced": [], "unchanged": [], "refused": []}
    skipped = 0
    for run_folder in folders_below(folder):
        try:
            run = read_verified(run_folder)
            if run.record.kind != KIND or run.record.metadata["dataset"] not in known:
                skipped += 1
                continue
            line, rows = line_of(run, by, reference, tuning), text_rows(run)
            check_splits(run_folder.root, rows, content.fingerprints)
            outcome[keep(content, line, rows)].append(line["run"])
        except UserError as error:
            outcome["refused"].append(str(error))
    if outcome["added"] or outcome["replaced"]:
        write_edition(edition, content)
    return Added(**{name: tuple(values) for name, values in outcome.items()}, skipped=skipped)


def check_tuning(tuning: str) -> None:
    """Raise a `UserError` if it is neither empty nor one of `TUNINGS`."""
    if tuning not in ("", *TUNINGS):
        text = f"--tuning must be one of {', '.join(TUNINGS)}, not {tuning!r}."
        raise UserError(text, "--tuning")


def open_edition(folder: Path) -> Content:
    """Read an edition to extend it; a new one has the published splits of the newest edition.

    Raises:
        UserError: if it is frozen or damaged.
    """
    if not (folder / EDITION).exists():
        source = folder if (folder / FINGERPRINTS).exists() else find_edition()
        return Content(new_meta(), read_fingerprints(source))
    verify(folder)
    meta = (folder / EDITION).read_text("utf-8")
    if tomllib.loads(meta)["frozen"]:
        raise UserError(
            f"the edition in {folder} is frozen; add to another folder (--edition DIR), which is "
            "created if it does not exist.",
            "--edition",
            "frozen",
        )
    lines = {line["run"]: line for line in read_lines(folder / RUNS)}
    rows = {str(run): group for run, group in read_rows(folder / SPLITS).groupby("run")}
    return Content(meta, read_fingerprints(folder), lines, rows)


def read_fingerprints(folder: Path) -> pd.DataFrame:
    """Return the published splits of an edition."""
    return pd.read_csv(folder / FINGERPRINTS)[list(FINGERPRINT_COLUMNS)]


def new_meta() -> str:
    """Return the content of a new `edition.toml`."""
    tracks = "\n".join(f"{name} = {json.dumps(text)}" for name, text in TRACKS.items())
    return f"frozen = false\n\n[tracks]\n{tracks}\n\n[representatives]\n"


def line_of(run: VerifiedRun, by: str, reference: str, tuning: str) -> Line:
    """Return the line of a finished run of this package.

    Raises:
        UserError: if its code changed while it ran.
    """
    record, root = run.record, run.folder.root
    if len(record.code_versions) != 1:
        text = (
            f"{root}: its splits were computed by {len(record.code_versions)} versions of the code"
        )
        raise UserError(f"{text}; run it again in a new folder.", "code_versions", "several_codes")
    described = metadata_row(run.folder, record)
    tuning = tuning or tuning_of(described["settings"])
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
        "level": "A",
        "by": by,
        "reference": reference,
        "bits": ", ".join(sorted(run.splits["bits"].unique())),
        "splits": len(run.splits),
        "environment": machine,
        "record": asdict(record),
    }


def text_rows(run: VerifiedRun) -> pd.DataFrame:
    """Return the rows of a run as they are written, seven digits, sorted by split."""
    splits = run.splits.assign(run=run.record.digest, dataset=run.record.metadata["dataset"])
    hyper = sorted(name for name in splits if name.startswith("hp."))
    table = splits.sort_values("split").reindex(columns=[*SPLIT_COLUMNS, *hyper])
    return pd.DataFrame({name: [as_text(cell) for cell in table[name]] for name in table})


def as_text(cell: Any) -> str:
    """Return a cell as written: seven digits, empty if missing."""
    if isinstance(cell, float):
        return "" if pd.isna(cell) else format(cell, f".{DIGITS}g")
    return "" if cell is None else str(cell)


def check_splits(root: Path, rows: pd.DataFrame, fingerprints: pd.DataFrame) -> None:
    """Raise a `UserError` if a split is not one of the published splits."""
    keys = ["dataset", "fingerprint", "training_fingerprint"]
    known = set(fingerprints[keys].itertuples(index=False, name=None))
    foreign = [
        row.split for row in rows.itertuples() if tuple(getattr(row, k) for k in keys) not in known
    ]
    if foreign:
        raise UserError(
            f"{root}: split {', '.join(foreign)} has other training or test rows than the "
            "published splits; only those are kept.",
            "fingerprint",
            "other_splits",
        )


def keep(content: Content, line: Line, rows: pd.DataFrame) -> str:
    """Put a run into an edition; return whether it was `added`, `replaced` or `unchanged`.

    Raises:
        UserError: if a run of this digest was computed by other code.
    """
    run, line = line["run"], {**line, "rows": rows_digest(rows)}
    before = content.lines.get(run)
    if before and before["record"]["code_versions"] != line["record"]["code_versions"]:
        metadata = line["record"]["metadata"]
        raise UserError(
            f"run {run} ({metadata['method']} on {metadata['dataset']}) is kept with rows of other "
            "code; a digest means one code per edition: add it to another edition.",
            "code_versions",
            "other_code",
        )
    if before and before["rows"] == line["rows"]:
        return "unchanged"
    content.lines[run], content.rows[run] = line, rows
    return "replaced" if before else "added"


def rows_digest(rows: pd.DataFrame) -> str:
    """Return the SHA-256 of a run's rows as CSV with header, without its empty columns."""
    used = [name for name in rows if (rows[name] != "").any()]
    return hashlib.sha256(rows[used].to_csv(index=False, lineterminator="\n").encode()).hexdigest()


def write_edition(folder: Path, content: Content) -> None:
    """Write the files of an edition, the checksums last."""
    rows = pd.concat(content.rows.values()).fillna("")
    hyper = sorted(name for name in rows if name.startswith("hp."))
    rows = rows[[*SPLIT_COLUMNS, *hyper]].sort_values(["dataset", "run", "split"], key=sort_key)
    lines = [json.dumps(content.lines[run], sort_keys=True) for run in sorted(content.lines)]
    write_text(folder / EDITION, content.meta)
    write_text(folder / FINGERPRINTS, content.fingerprints.to_csv(index=False, lineterminator="\n"))
    write_gzip(folder / RUNS, "\n".join(lines) + "\n")
    write_gzip(folder / SPLITS, rows.to_csv(index=False, lineterminator="\n"))
    write_sums(folder)


def sort_key(column: pd.Series) -> pd.Series:
    """Sort split numbers as numbers."""
    return column.astype(int) if column.name == "split" else column


def write_gzip(path: Path, text: str) -> None:
    """Write a gzipped text whose bytes do not depend on the time."""
    write_atomically(path, lambda file: file.write(gzip.compress(text.encode(), 9, mtime=0)))


def write_sums(folder: Path) -> None:
    """Write the checksums of an edition's files."""
    names = (EDITION, RUNS, SPLITS, FINGERPRINTS)
    write_text(folder / SUMS, "".join(f"{sha256(folder / name)}  {name}\n" for name in names))


def freeze(folder: Path) -> None:
    """Mark an open edition as frozen."""
    content = open_edition(folder)
    write_text(folder / EDITION, content.meta.replace("frozen = false", "frozen = true", 1))
    write_sums(folder)
