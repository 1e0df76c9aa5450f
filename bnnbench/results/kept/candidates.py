"""Runs that may be kept, and what is known about them.

`run_folders` reads finished runs of this package, `score_files` scores of other programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bnnbench.notes import one_line
from bnnbench.results.kept.edition import SPLIT_COLUMNS
from bnnbench.results.kept.plausibility import Finding
from bnnbench.results.kept.tracks import TUNINGS
from bnnbench.types import UserError

DIGITS = 7

KEYS = ["dataset", "fingerprint", "training_fingerprint"]


@dataclass(frozen=True)
class Claims:
    """What the person who adds runs says about them.

    Attributes:
        by: name.
        reference: of a paper or code.
        tuning: one of `TUNINGS`; by default the settings of a run determine it, and it is unknown
            for scores of others.
        fits: number of fits per split, for scores of others.
        compute: the machine, for scores of others.
    """

    by: str = ""
    reference: str = ""
    tuning: str = ""
    fits: int | None = None
    compute: str = ""

    def __post_init__(self) -> None:
        if self.tuning not in ("", *TUNINGS):
            text = f"tuning must be one of {', '.join(TUNINGS)}, not {self.tuning!r}."
            raise UserError(text, "tuning")


@dataclass(frozen=True)
class Candidate:
    """A run that may be kept: its line without the digest of the rows, and its rows as text."""

    line: dict[str, Any]
    rows: pd.DataFrame


@dataclass
class Submission:
    """The runs in a file or folder, with the findings of the check.

    Attributes:
        candidates: runs without faults.
        findings: about all runs.
        skipped: number of runs that are not on published splits of the edition.
    """

    candidates: list[Candidate] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    skipped: int = 0


@dataclass(frozen=True)
class Known:
    """What an edition knows about its data sets.

    Attributes:
        splits: its `fingerprints.csv`.
        best_rmse: the lowest mean RMSE of its level A runs, by data set.
    """

    splits: pd.DataFrame
    best_rmse: Mapping[str, float]


def text_table(splits: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a run as they are written: seven digits, sorted by split."""
    hyper = sorted(name for name in splits if name.startswith("hp."))
    table = splits.sort_values("split").reindex(columns=[*SPLIT_COLUMNS, *hyper])
    return pd.DataFrame({name: [as_text(cell) for cell in table[name]] for name in table})


def as_text(cell: Any) -> str:
    """Return a cell as written: seven digits, empty if missing."""
    if isinstance(cell, float):
        return "" if pd.isna(cell) else format(cell, f".{DIGITS}g")
    return "" if cell is None else one_line(str(cell))


def other_splits(rows: pd.DataFrame, published: pd.DataFrame) -> str:
    """Describe the rows that are not on published splits; empty if there are none."""
    known = set(published[KEYS].itertuples(index=False, name=None))
    found = rows[KEYS].itertuples(index=False, name=None)
    other = [str(place) for place, row in enumerate(found, 1) if row not in known]
    if not other:
        return ""
    shown = ", ".join(other[:5]) + (f" and {len(other) - 5} more" if len(other) > 5 else "")
    return (
        f"row {shown} has other training or test rows than the published splits of "
        "fingerprints.csv; only those are kept."
    )
