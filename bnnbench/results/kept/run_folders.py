"""Read finished runs of this package as runs that may be kept."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import read_environment
from bnnbench.experiment.split_files import KIND
from bnnbench.results.kept.candidates import (
    Candidate,
    Claims,
    Submission,
    other_splits,
    text_table,
)
from bnnbench.results.kept.plausibility import Finding
from bnnbench.results.kept.tracks import fits_of, protocol_of, track_of, tuning_of
from bnnbench.results.reader import folders_below, metadata_row
from bnnbench.results.verified_run import VerifiedRun, read_verified
from bnnbench.types import UserError

ENVIRONMENT = ("processor", "cores", "platform", "python", "cuda", "commit", "versions")
"""Entries of `environment.json` that a line keeps."""


def read_run_folders(path: Path, claims: Claims, published: pd.DataFrame) -> Submission:
    """Read all finished runs at or below a folder that are on published splits.

    Args:
        path: the folder.
        claims: what is said about the runs.
        published: the published splits, `fingerprints.csv`.
    """
    submission, names = Submission(), set(published["dataset"])
    for folder in folders_below(path):
        try:
            run = read_verified(folder)
            metadata, settings = run.record.metadata, run.record.identity
            seeded = settings.get("dataset", {}).get("seeded_splits") is not None
            if run.record.kind != KIND or metadata["dataset"] not in names or seeded:
                submission.skipped += 1
                continue
            rows = text_table(run.splits.assign(run=run.record.digest, dataset=metadata["dataset"]))
            if other := other_splits(rows, published):
                raise UserError(f"{folder.root}: {other}")
            submission.candidates.append(Candidate(line_of(run, claims), rows))
        except UserError as error:
            submission.findings.append(Finding(str(error)))
    return submission


def line_of(run: VerifiedRun, claims: Claims) -> dict[str, Any]:
    """Return the line of a finished run of this package.

    Raises:
        UserError: if its code changed while it ran.
    """
    record, root = run.record, run.folder.root
    if len(record.code_versions) != 1:
        raise UserError(
            f"{root} was computed by {len(record.code_versions)} versions of the code; run it "
            "again in a new folder.",
            "code_versions",
            "several_codes",
        )
    described = metadata_row(run.folder, record)
    tuning = claims.tuning or tuning_of(described["settings"])
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
        "by": claims.by,
        "reference": claims.reference,
        "bits": ", ".join(sorted(run.splits["bits"].unique())),
        "splits": len(run.splits),
        "marks": [],
        "environment": machine,
        "record": asdict(record),
    }
