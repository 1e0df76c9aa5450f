"""Read and check scores of other programs.

They are a CSV file, or a folder with `splits.csv`, `submission.toml` and optionally
`predictions.csv`. Nothing in them is executed.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import NAME
from bnnbench.experiment.split_files import KIND
from bnnbench.files import checksum
from bnnbench.results.kept.candidates import (
    KEYS,
    Candidate,
    Claims,
    Known,
    Submission,
    other_splits,
    text_table,
)
from bnnbench.results.kept.edition import SCORES, SECONDS
from bnnbench.results.kept.plausibility import Finding, contradictions, implausible, rescored
from bnnbench.results.kept.tracks import FREE
from bnnbench.results.published.user_values import NEGATIVE_METRICS
from bnnbench.types import UserError

SUBMISSION, SCORES_FILE, PREDICTIONS = "submission.toml", "splits.csv", "predictions.csv"
"""Files of a folder with scores of others; the last is optional."""

REQUIRED = ("method", "dataset", "fingerprint", "training_fingerprint", "rmse", "log_likelihood")
OPTIONAL = (*SCORES, *SECONDS, "split", "diverged", "training_rows", "test_rows", "at_bound")
"""Columns of scores of others; `hp.*` are optional too."""

PREDICTION_COLUMNS = ("method", "dataset", "fingerprint", "target", "mean", "variance")
"""Columns of predictions; `log_density` is optional."""

UNKNOWN_METADATA: Mapping[str, Any] = {
    "experiment": "submission", "divergence": "unknown", "divergence_family": "unknown",
    "order": None, "weight": 1.0, "likelihood": "unknown", "loss": "unknown", "depth": 0,
    "seed": 0, "inputs": 0, "synthetic": False, "target": "", "score_training_rows": False,
    "initial_points": 0,
}  # fmt: skip
"""Metadata of runs of other programs."""


Group = tuple[str, str]
"""Method and data set."""


def read_score_files(path: Path, claims: Claims, known: Known) -> Submission:
    """Read and check a CSV file, or a folder with `submission.toml`.

    If anything has a fault, nothing is a candidate.

    Raises:
        UserError: if a file cannot be read.
    """
    predictions = None
    if path.is_dir():
        claims = read_claims(path / SUBMISSION, claims)
        predictions = read_predictions(path / PREDICTIONS)
        path = path / SCORES_FILE
    table = read_csv(path, REQUIRED)
    findings = list(column_findings(table))
    table, wrong = with_numbers(table)
    findings += wrong
    if other := other_splits(table, known.splits):
        findings.append(Finding(f"{path.name}: {other}"))
    if double := int(table.duplicated(["method", *KEYS]).sum()):
        findings.append(Finding(f"{path.name}: {double} rows repeat a split of the same method."))
    table = table.drop(columns=["split", "training_rows", "test_rows"], errors="ignore")
    table = table.merge(known.splits, on=KEYS)
    candidates = []
    for (method, dataset), rows in table.groupby(["method", "dataset"]):
        group = str(method), str(dataset)
        confirmed, found = with_predictions(group, rows, predictions)
        marks = list(found) + list(group_findings(group, confirmed, known, predictions is not None))
        findings += marks
        texts = [finding.text for finding in marks if not finding.fault]
        level = "C" if predictions is None else "B"
        candidates.append(candidate_of(group, confirmed, claims, level, texts))
    if any(finding.fault for finding in findings):
        candidates = []
    return Submission(candidates, findings)


def column_findings(table: pd.DataFrame) -> Iterator[Finding]:
    """Yield faults of columns and names."""
    for name in table:
        if name.lower() in NEGATIVE_METRICS:
            yield Finding(f"column {name}: give log_likelihood, with the opposite sign.")
        elif name not in (*REQUIRED, *OPTIONAL) and not name.startswith("hp."):
            yield Finding(
                f"column {name} is unknown (columns: {', '.join((*REQUIRED, *OPTIONAL))})."
            )
    for name in table["method"].unique():
        if not NAME.fullmatch(name):
            yield Finding(f"method {name!r} is no name; use letters, digits and . _ + - only.")


def with_numbers(table: pd.DataFrame) -> tuple[pd.DataFrame, list[Finding]]:
    """Return the table with numbers, and faults of cells.

    The scores of a split that diverged may be missing, and so may optional columns.
    """
    numeric = (*SCORES, *SECONDS, "diverged", *(n for n in table if n.startswith("hp.")))
    given = table.reindex(columns=[*dict.fromkeys((*table, *numeric))], fill_value="")
    numbers = given.assign(**{n: pd.to_numeric(given[n], errors="coerce") for n in numeric})
    numbers["diverged"] = numbers["diverged"].fillna(0).astype(int)
    findings = []
    for name in numeric:
        needed = (numbers["diverged"] == 0) if name in REQUIRED else given[name] != ""
        finite = numbers[name].between(-1e300, 1e300)
        if lines := [str(place + 2) for place in (needed & ~finite).to_numpy().nonzero()[0]]:
            findings.append(Finding(f"column {name}: no finite number in line {', '.join(lines)}."))
    return numbers, findings


def with_predictions(
    group: Group, rows: pd.DataFrame, predictions: pd.DataFrame | None
) -> tuple[pd.DataFrame, list[Finding]]:
    """Return the rows with the scores of their predictions, and faults where they disagree."""
    if predictions is None:
        return rows, []
    keys = ["method", "dataset", "fingerprint"]
    points = {str(key[2]): part for key, part in predictions.groupby(keys) if key[:2] == group}
    findings, scored = [], []
    for row in rows.to_dict("records"):
        name = f"{' on '.join(group)}, split {row['split']}"
        part = points.get(str(row["fingerprint"]))
        if row["diverged"] or part is None:
            if not row["diverged"]:
                findings.append(Finding(f"{name}: has no predictions."))
            scored.append(row)
            continue
        scores = rescored(part)
        findings += contradictions(name, row, part, scores)
        scored.append({**row, **scores})
    return pd.DataFrame(scored), findings


def group_findings(
    group: Group, rows: pd.DataFrame, known: Known, predicted: bool
) -> Iterator[Finding]:
    """Yield findings about all splits of a method on a data set."""
    published = int((known.splits["dataset"] == group[1]).sum())
    if len(rows) < published:
        text = f"{' on '.join(group)}: {len(rows)} of {published} splits."
        yield Finding(text, fault=False)
    valid = rows[rows["diverged"] == 0]
    if len(valid):
        best = known.best_rmse.get(group[1])
        yield from implausible(" on ".join(group), valid, best, predicted)


def candidate_of(
    group: Group, rows: pd.DataFrame, claims: Claims, level: str, marks: list[str]
) -> Candidate:
    """Return the scores of a method on a data set as a run, whose digest is that of its names."""
    method, dataset = group
    digest = checksum(json.dumps(["submission", claims.by, method, dataset]).encode())[:12]
    metadata = {**UNKNOWN_METADATA, "method": method, "family": method, "dataset": dataset}
    record = {"kind": KIND, "digest": digest, "metadata": metadata, "identity": {}}
    line = {
        "run": digest,
        "track": FREE,
        "protocol": "",
        "tuning": claims.tuning or "unknown",
        "fits": claims.fits,
        "level": level,
        "by": claims.by,
        "reference": claims.reference,
        "bits": "unknown",
        "splits": len(rows),
        "marks": marks,
        "environment": {"processor": claims.compute},
        "record": {**record, "code_versions": []},
    }
    return Candidate(line, text_table(rows.assign(run=digest, at_bound="")))


def read_claims(path: Path, given: Claims) -> Claims:
    """Read `submission.toml`; options of the command take precedence.

    Raises:
        UserError: if it is not TOML, or has an unknown or wrong entry.
    """
    known = {entry.name: entry for entry in fields(Claims)}
    try:
        entries = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as TOML ({error}).", "submission.toml") from None
    for name, value in entries.items():
        if name not in known or not isinstance(value, int if name == "fits" else str):
            text = f"{path}: {name} = {value!r} is unknown or has the wrong type"
            raise UserError(f"{text} (entries: {', '.join(known)}).", name, "entry")
    return replace(Claims(**entries), **{n: v for n, v in asdict(given).items() if v})


def read_predictions(path: Path) -> pd.DataFrame | None:
    """Read predictions; None if the file does not exist.

    Raises:
        UserError: if they cannot be read.
    """
    if not path.exists():
        return None
    table = read_csv(path, PREDICTION_COLUMNS)
    numbers = [n for n in ("target", "mean", "variance", "log_density") if n in table]
    table = table.assign(**{n: pd.to_numeric(table[n], errors="coerce") for n in numbers})
    if table[numbers].isna().any(axis=None) or not (table["variance"] > 0).all():
        raise UserError(f"{path} has a number that is missing or not positive.", path.name, "cell")
    return table


def read_csv(path: Path, required: tuple[str, ...]) -> pd.DataFrame:
    """Read a CSV file as text.

    Raises:
        UserError: if it cannot be read or lacks a column.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False).rename(columns=str.strip)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"{path} cannot be read as CSV ({reason}).", "PATH", "unreadable") from None
    if missing := [name for name in required if name not in table]:
        raise UserError(
            f"{path} lacks the columns {', '.join(missing)}; it needs {', '.join(required)}.",
            "PATH",
            "columns",
        )
    if table.empty:
        raise UserError(f"{path} has no rows.", "PATH", "no_rows")
    return table
