"""Read finished runs into tables indexed by the digest of each run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bnnbench.experiment.store.provenance import distinct_versions
from bnnbench.experiment.store.record import Record, read_record
from bnnbench.experiment.store.run_folder import RunFolder, finished_runs
from bnnbench.experiment.store.split_files import KIND
from bnnbench.experiment.store.stored_files import unusable_run_error
from bnnbench.files import READ_ERRORS
from bnnbench.notes import join_words, one_line
from bnnbench.results.published.protocol import noise_differences, protocol_differences
from bnnbench.results.read.labels import distinct_data_sets, renamed
from bnnbench.results.read.run_files import VerifiedRun, read_verified
from bnnbench.results.read.split_means import (
    CODE_VERSIONS,
    code_counts,
    mixed_code,
    summarise_runs,
    to_wide,
    with_incomplete,
)
from bnnbench.results.settings import flatten
from bnnbench.types import UserError

REPORT_FOLDER = "report"
"""Folders of this name contain reports and perhaps copies of runs; they are not read."""

SORT_COLUMNS = ("dataset", "method", "experiment", "variant")
"""Columns by which the runs are sorted."""

USER_PUBLISHED_COLUMNS = ("method", "dataset", "metric", "mean", "stderr", "n_splits", "decimals",
                          "source", "year", "splits")  # fmt: skip
"""Columns of the user's published values (`read_user_published`)."""

MAX_NAMED = 3
"""Runs that a message names; the others are counted."""

T = TypeVar("T")


@dataclass(frozen=True)
class Runs:
    """The finished runs of a folder.

    Attributes:
        path: the folder, the first if there are several.
        tables: by kind of experiment, one row per run, index `run` (the digest of its record),
            sorted by `SORT_COLUMNS`. Columns: the metadata of its record, `variant` (name of its
            folder), `settings` (by dotted name) and `n_code_versions` (how many computed it); for
            runs on splits also `splits` (how many), `diverged` (how many of them diverged; left out
            of the means), `settings_differ` (deviations from the published protocol in words, empty
            if none), `mark` (the same, but empty if all runs share one other noise model),
            `incomplete` (`with_incomplete`), and for each metric and diagnostic `<metric>_mean`,
            `<metric>_std` and `<metric>_stderr`.
        splits: every row of `splits.csv` of every run on splits, with the column `run`.
        folders: folder of each run.
        calibrations: calibration table of each run that has one.
        skipped: a message for every run left out because a file of it cannot be read.
        user_published: published values given by the user (`read_user_published`).
        left_out: messages about runs that were left out on purpose.
    """

    path: Path
    tables: Mapping[str, pd.DataFrame]
    splits: pd.DataFrame
    folders: Mapping[str, RunFolder]
    calibrations: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    user_published: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=list(USER_PUBLISHED_COLUMNS))
    )
    left_out: tuple[str, ...] = ()
    _cache: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def scored(self) -> pd.DataFrame:
        """The table of the runs that have scores on splits; empty if there are none."""
        return self.tables.get(KIND, pd.DataFrame())

    @property
    def experiments(self) -> set[str]:
        """The kinds and the labels of the runs' experiments."""
        return {*self.tables}.union(*(table["experiment"] for table in self.tables.values()))

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about runs that were left out on purpose, or mix several code versions."""
        mixed = [
            str(self.folders[str(run)].root)
            for table in self.tables.values()
            for run in table.index[code_counts(table) > 1]
        ]
        if not mixed:
            return self.left_out
        more = f" and {len(mixed) - MAX_NAMED} more" if len(mixed) > MAX_NAMED else ""
        text = (
            f"several versions of the code computed parts of {join_words(mixed[:MAX_NAMED])}"
            f"{more}, so the results belong to none of these versions; run everything there again "
            "with resume=false"
        )
        return (*self.left_out, text)

    def cached(self, make: Callable[[Runs], T]) -> T:
        """Return `make(self)`, computed on first use, so that sections can share tables."""
        if make not in self._cache:
            self._cache[make] = make(self)
        result: T = self._cache[make]
        return result


def read_runs(
    path: Path, labels: Collection[str] | None = None, others: Sequence[Path] = ()
) -> Runs:
    """Read every finished, undamaged run at or below `path`, and below `others`.

    Of several copies of a run, the one with the most splits is used. `labels` are the names of the
    subfolders to read, by default all.

    Raises:
        UserError: if `path` does not exist, contains no finished run, or only damaged ones.
    """
    verified, skipped = read_verified_runs((path, *others), labels)
    rows: dict[str, list[dict[str, Any]]] = {}
    for run in verified.values():
        rows.setdefault(run.record.kind, []).append(metadata_row(run.folder, run.record))
    tables = {kind: pd.DataFrame(kind_rows).set_index("run") for kind, kind_rows in rows.items()}
    splits = pd.DataFrame()
    if KIND in tables:
        pieces = {run: verified[run].splits for run in tables[KIND].index}
        splits = pd.concat(pieces.values(), ignore_index=True)
        splits["run"] = np.repeat(list(pieces), [len(piece) for piece in pieces.values()])
        scores = to_wide(summarise_runs(splits))
        counts = splits.groupby("run")["diverged"].agg(splits="size", diverged="sum")
        described = with_incomplete(with_differences(tables[KIND].join(counts)), splits)
        tables[KIND] = described.join(scores)
    folders = {name: run.folder for name, run in verified.items()}
    calibrations = {
        n: run.calibration for n, run in verified.items() if run.calibration is not None
    }
    names = distinct_data_sets(tables.values())
    for kind, table in tables.items():
        order = [column for column in SORT_COLUMNS if column in table]
        tables[kind] = renamed(table, names).sort_values(order, kind="stable")
    return Runs(path, tables, renamed(splits, names), folders, calibrations, skipped)


def matching_rows(
    tables: Mapping[str, pd.DataFrame], select: Callable[[pd.DataFrame], pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """Return the selected rows of `Runs.tables`; empty tables are left out."""
    selected = {kind: select(table) for kind, table in tables.items()}
    return {kind: table for kind, table in selected.items() if len(table)}


def with_distinct_data_sets(parts: Sequence[Runs]) -> list[Runs]:
    """Return runs of several folders, in which different tables have different names."""
    names = distinct_data_sets(table for runs in parts for table in runs.tables.values())
    return [
        replace(
            runs,
            tables={kind: renamed(table, names) for kind, table in runs.tables.items()},
            splits=renamed(runs.splits, names),
            _cache={},
        )
        for runs in parts
    ]


def read_verified_runs(
    paths: Sequence[Path], labels: Collection[str] | None = None
) -> tuple[dict[str, VerifiedRun], tuple[str, ...]]:
    """Return the finished runs by digest, and a sentence on each that cannot be read.

    Raises:
        UserError: if none can be read.
    """
    verified: dict[str, VerifiedRun] = {}
    errors: list[UserError] = []
    for folder in (folder for path in paths for folder in folders_below(path, labels)):
        try:
            run = read_verified(folder)
            row = metadata_row(folder, run.record)
            if run.record.kind == KIND:
                with_differences(pd.DataFrame([{**row, "splits": len(run.splits)}]))
        except UserError as error:
            errors.append(error)
            continue
        except READ_ERRORS as error:
            errors.append(unusable_run_error(folder.root, error))
            continue
        known = verified.get(run.record.digest)
        if known is None or len(run.splits) > len(known.splits):
            verified[run.record.digest] = run
    if not verified:
        raise all_damaged_error(errors)
    return verified, tuple(map(str, errors))


def all_damaged_error(errors: Sequence[UserError]) -> UserError:
    """Return the error for a folder in which every run is damaged."""
    rest = f" Damaged runs in addition to this one: {len(errors) - 1}."
    message = f"{errors[0]}{rest if len(errors) > 1 else ''}"
    return UserError(message, errors[0].setting, errors[0].code)


def folders_below(path: Path, labels: Collection[str] | None = None) -> list[RunFolder]:
    """Return the folders of all finished runs in path order, without copies in reports.

    Raises:
        UserError: if `path` does not exist or contains no finished run.
    """
    if not is_folder(path):
        raise UserError(
            f"folder {path} does not exist; give the folder that contains your runs (outputs, "
            "unless you set outputs_dir) or any folder inside it.",
            setting="path",
            code="no_folder",
        )
    path_parts = {run: run.root.relative_to(path).parts for run in finished_runs(path)}
    folders = [
        run
        for run, parts in path_parts.items()
        if REPORT_FOLDER not in parts and (labels is None or parts[0] in labels)
    ]
    if not folders:
        raise UserError(
            f"{path} contains no finished run (a folder with a DONE file); let a run finish first "
            "or give the folder that contains your runs.",
            setting="path",
            code="no_run",
        )
    return folders


def is_folder(path: Path) -> bool:
    """Return whether the folder exists; False for invalid names."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def metadata_row(folder: RunFolder, record: Record) -> dict[str, Any]:
    """Return the first cells of a run's row in `Runs.tables`."""
    settings = flatten(record.identity)
    variant = one_line(folder.root.resolve().name)
    own: dict[str, Any] = {"variant": variant, "settings": settings}
    own[CODE_VERSIONS] = len(distinct_versions(record.code_versions))
    return {"run": record.digest, **record.metadata, **own}


def with_differences(table: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `settings_differ` and `mark`."""
    rows = table.to_dict("records")
    differences = [", ".join([*protocol_differences(run), *mixed_code(run)]) for run in rows]
    other = len(set(differences)) == 1 and all(map(noise_differences, rows))
    return table.assign(settings_differ=differences, mark="" if other else differences)


def run_row(folder: RunFolder, splits: pd.DataFrame) -> dict[str, Any]:
    """Return a run's row of `Runs.scored` without its scores."""
    row = metadata_row(folder, read_record(folder))
    (marked,) = with_differences(pd.DataFrame([{**row, "splits": len(splits)}])).to_dict("records")
    return {**row, "splits": len(splits), "settings_differ": marked["settings_differ"]}


def require_scores(runs: Runs) -> None:
    """Raise a `UserError` if no run has scores on splits."""
    if runs.scored.empty:
        labels = {str(label) for table in runs.tables.values() for label in table["experiment"]}
        names = " and ".join(f"experiment={label}" for label in sorted(labels))
        raise UserError(
            f"{runs.path} contains no run with scores on splits; runs of {names} have a report "
            "page of their own.",
            setting="path",
            code="no_scores",
        )
