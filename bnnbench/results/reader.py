"""Reads a folder of finished runs, once, into tables keyed by the digest of each run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bnnbench.experiment.record import Record, read_record
from bnnbench.experiment.run_folder import RunFolder, finished_runs
from bnnbench.experiment.split_files import KIND
from bnnbench.results.intact import Intact, read_intact
from bnnbench.results.published_protocol import departures, other_noise
from bnnbench.results.settings import flatten
from bnnbench.results.summary import over_splits, side_by_side
from bnnbench.types import UserError

REPORT = "report"
"""Folders of this name hold what was made of runs, perhaps copies: nothing below is read."""

ORDER = ("dataset", "method", "experiment", "variant")
"""Columns by which the runs are sorted."""

BESIDE = ("method", "dataset", "metric", "mean", "stderr", "n_splits", "decimals", "source",
          "year", "splits")  # fmt: skip
"""What published values that a reader brings have at least."""

T = TypeVar("T")


@dataclass(frozen=True)
class Runs:
    """The finished runs of a folder.

    Attributes:
        path: of the folder.
        tables: by kind of experiment, a row per run, index `run` (the digest of its record),
            sorted by `ORDER`. Columns: the names in its record, `variant`, the name of its folder,
            and `settings`, all of them by dotted name; for runs on splits also `splits` (how many),
            `diverged` (of them; left out of the means), `settings_differ` (words that say in what
            they depart from the published protocol, empty where in nothing), `mark` (the same, but
            empty where all runs are of one other noise law) and for each metric and diagnostic
            `<metric>_mean`, `<metric>_std` and `<metric>_stderr`.
        splits: every row of `splits.csv` of every run on splits, with the column `run`.
        folders: of each run.
        calibrations: of each run that has one, what its page found, of `read_calibration`.
        left_out: a sentence on every run that is not in it, since a file of it is damaged.
        mended: a sentence on every damaged file whose numbers are computed anew.
        beside: published values that the reader brought, of `read_beside`; none as a rule.
    """

    path: Path
    tables: Mapping[str, pd.DataFrame]
    splits: pd.DataFrame
    folders: Mapping[str, RunFolder]
    calibrations: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    beside: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(BESIDE)))
    _made: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def scored(self) -> pd.DataFrame:
        """The table of the runs that have scores on splits; empty where there is none."""
        return self.tables.get(KIND, pd.DataFrame())

    def once(self, make: Callable[[Runs], T]) -> T:
        """What a function makes of these runs, computed at its first use.

        So sections may share a table, and files are parsed once, without knowing of each other.
        """
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


def read_runs(path: Path, labels: Collection[str] | None = None) -> Runs:
    """Every finished run at or below `path`, but damaged ones; of copies of a run the fullest.

    Args:
        path: a folder.
        labels: of the folders in it that are read; all of them if not given.

    Raises:
        UserError: if `path` does not exist or holds no finished run, or all of them are damaged.
    """
    found, left_out = intact_below(path, labels)
    rows: dict[str, list[dict[str, Any]]] = {}
    for run in found.values():
        rows.setdefault(run.record.kind, []).append(named_row(run.folder, run.record))
    tables = {kind: pd.DataFrame(named).set_index("run") for kind, named in rows.items()}
    splits = pd.DataFrame()
    if KIND in tables:
        pieces = {run: found[run].splits for run in tables[KIND].index}
        splits = pd.concat(pieces.values(), ignore_index=True)
        splits["run"] = np.repeat(list(pieces), [len(piece) for piece in pieces.values()])
        scores = side_by_side(over_splits(splits))
        tables[KIND] = marked(tables[KIND].join(counted(splits))).join(scores)
    tables = {kind: ordered(table) for kind, table in tables.items()}
    folders = {name: run.folder for name, run in found.items()}
    kept = {n: run.calibration for n, run in found.items() if run.calibration is not None}
    mended = tuple(run.mended for run in found.values() if run.mended)
    return Runs(path, tables, splits, folders, kept, left_out, mended)


def intact_below(
    path: Path, labels: Collection[str] | None = None
) -> tuple[dict[str, Intact], tuple[str, ...]]:
    """The finished runs by digest, and a sentence on each that is damaged.

    Raises:
        UserError: if none is left.
    """
    found: dict[str, Intact] = {}
    left_out = []
    for folder in folders_below(path, labels):
        try:
            run = read_intact(folder)
            found[run.record.digest] = fuller(found.get(run.record.digest), run)
        except UserError as error:
            left_out.append(str(error))
    if not found:
        more = f" So are {len(left_out) - 1} more runs." if len(left_out) > 1 else ""
        raise UserError(f"{left_out[0]}{more}")
    return found, tuple(left_out)


def fuller(first: Intact | None, second: Intact) -> Intact:
    """Of two copies of a run the one with more splits; the first of equals."""
    if first is None:
        return second
    return second if len(second.splits) > len(first.splits) else first


def folders_below(path: Path, labels: Collection[str] | None = None) -> list[RunFolder]:
    """The folders of all finished runs, in path order, copies in a report left out.

    Args:
        path: a folder.
        labels: as for `read_runs`.

    Raises:
        UserError: if `path` does not exist or holds none.
    """
    if not is_folder(path):
        raise UserError(
            f"There is no folder {path}; give the folder that your runs were written to "
            "(outputs, unless you set outputs_dir) or any folder inside it."
        )
    places = {run: run.root.relative_to(path).parts for run in finished_runs(path)}
    folders = [
        run
        for run, parts in places.items()
        if REPORT not in parts and (labels is None or parts[0] in labels)
    ]
    if not folders:
        raise UserError(
            f"{path} holds no finished run, that is no folder with a DONE file; let a run finish "
            "first or give the folder that your runs were written to."
        )
    return folders


def is_folder(path: Path) -> bool:
    """Whether there is such a folder; not under a name that no folder can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def named_row(folder: RunFolder, record: Record) -> dict[str, Any]:
    """What a row of `Runs.tables` begins with."""
    settings = flatten(record.identity)
    variant = folder.root.resolve().name
    return {"run": record.digest, **record.names, "variant": variant, "settings": settings}


def counted(splits: pd.DataFrame) -> pd.DataFrame:
    """By run, how many `splits` it has and how many of them `diverged`."""
    return splits.groupby("run")["diverged"].agg(splits="size", diverged="sum")


def marked(table: pd.DataFrame) -> pd.DataFrame:
    """With the columns `settings_differ` and `mark`."""
    rows = table.to_dict("records")
    words = [", ".join(departures(run)) for run in rows]
    other = len(set(words)) == 1 and all(map(other_noise, rows))
    return table.assign(settings_differ=words, mark="" if other else words)


def row_of(folder: RunFolder, splits: pd.DataFrame) -> dict[str, Any]:
    """What a row of `Runs.scored` says of one run on splits, but for its scores.

    Args:
        folder: of the run.
        splits: of `read_splits`.
    """
    row = named_row(folder, read_record(folder))
    (found,) = marked(pd.DataFrame([{**row, "splits": len(splits)}])).to_dict("records")
    return {**row, "splits": len(splits), "settings_differ": found["settings_differ"]}


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """The rows sorted by `ORDER`, as far as the kind of run has these columns."""
    return table.sort_values([column for column in ORDER if column in table], kind="stable")


def require_scores(runs: Runs) -> None:
    """Refuses runs none of which has scores on splits.

    Raises:
        UserError: naming their experiments.
    """
    if runs.scored.empty:
        labels = {str(label) for table in runs.tables.values() for label in table["experiment"]}
        names = " and ".join(f"experiment={label}" for label in sorted(labels))
        raise UserError(
            f"{runs.path} holds finished runs, but none with scores on splits: those of {names} "
            "show their results themselves."
        )
