"""Read reference results.

They are a folder with an archive, `reference_results.zip`, of these files:

- `runs.jsonl`: one line per run, see `RUN_COLUMNS`
- `splits.csv`: one row per run and split, see `SPLIT_COLUMNS`; seven digits
- `fingerprints.csv`: the published splits, see `FINGERPRINT_COLUMNS`

Rows are compared within a track only. The archive is replaced as a whole: hence a reader finds all
members of one state, also while another process writes, and after that process was killed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.experiment.store.split_files import AT_BOUND, KIND, PHASES, SIZES, SPLIT_KEY
from bnnbench.files import READ_ERRORS, read_members, user_path
from bnnbench.near_names import with_known
from bnnbench.results.metric_table import SCORE_KEYS
from bnnbench.results.published.protocol import missing_splits
from bnnbench.results.read.configurations import one_seed_each, preset_order, representatives
from bnnbench.results.read.run_tables import Runs, is_folder, with_differences
from bnnbench.results.read.split_means import never_ranked, summarise_runs, to_wide
from bnnbench.results.reference.tracks import PROTOCOL_TRACKS, TRACKS
from bnnbench.results.settings import flatten
from bnnbench.types import UserError

ARCHIVE = "reference_results.zip"

RUNS, SPLITS, FINGERPRINTS = MEMBERS = ("runs.jsonl", "splits.csv", "fingerprints.csv")
"""Members of the archive, in their order."""

PACKAGED = Path(__file__).parent
"""Folder of the package's reference results."""

FINGERPRINT_COLUMNS = ("dataset", "split", *SPLIT_KEY, *SIZES)
"""Columns of `fingerprints.csv`."""

SPLIT_COLUMNS = (
    *("run", *FINGERPRINT_COLUMNS, *SCORE_KEYS, *PHASES),
    *("cpu_seconds", "reference_seconds", "diverged", AT_BOUND),
)
"""Columns of `splits.csv`; `hp.*`, the chosen hyper-parameters, follow."""

TEXT_COLUMNS = ("run", "dataset", *SPLIT_KEY, AT_BOUND)

RUN_COLUMNS = (
    *("run", "track", "protocol", "tuning", "fits", "bits", "splits", "rows", "environment"),
    "record",
)
"""Keys of a line of `runs.jsonl`: digest of the run, its track, digest of the protocol, how it
was tuned, fits per split, whether its bits depend on the processor, its number of splits, SHA-256
of its rows, machine, `record.json`."""


@dataclass(frozen=True)
class ReferenceResults:
    """Reference results.

    Attributes:
        folder: of their files.
        runs: a row per run, with `RUN_COLUMNS` except `record`; the metadata of its record (such as
            `method`, `family`, `dataset`); `settings` by dotted name; `code_versions`; `diverged`,
            its number of diverged splits; `unranked`, the reason why ranks leave it out, or empty.
        splits: a row per split, `SPLIT_COLUMNS`, `hp.*`, and `cpu_ratio`, the CPU seconds divided
            by the median of the run's `reference_seconds`: comparable between machines.
        fingerprints: the published splits.
    """

    folder: Path
    runs: pd.DataFrame
    splits: pd.DataFrame
    fingerprints: pd.DataFrame


def find_folder(folder: Path | str | None = None) -> Path:
    """Return a folder of reference results, by default that of the package.

    Raises:
        UserError: if it has none.
    """
    path = PACKAGED if folder is None else user_path("folder", folder)
    if is_folder(path) and (path / ARCHIVE).is_file():
        return path
    raise UserError(
        f"{path} is not a folder of reference results, since it has no file {ARCHIVE}; give a "
        "folder that `bnnbench reference add` wrote, or none for the reference results of "
        "bnnbench.",
        "folder",
        "no_reference",
    )


def read_archive(folder: Path) -> dict[str, bytes]:
    """Return the contents of the members by name; call it while `reading` the folder."""
    return read_members(folder / ARCHIVE, MEMBERS)


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Raise a `UserError` if the archive is missing or damaged, or has other content."""
    try:
        yield
    except READ_ERRORS as error:
        raise UserError(
            f"the folder of reference results {folder} cannot be read ({error}); restore it from "
            "its source.",
            "folder",
            "damaged",
        ) from None


def read_reference_results(folder: Path | str | None = None) -> ReferenceResults:
    """Read reference results and verify their checksums.

    Args:
        folder: as for `find_folder`.

    Raises:
        UserError: if there are none, or they are damaged.
    """
    folder = find_folder(folder)
    with reading(folder):
        members = read_archive(folder)
        fingerprints = read_fingerprints(members)
        splits = as_numbers(read_rows(members))
        lines = read_lines(members)
        diverged = splits.groupby("run")["diverged"].sum()
        table = runs_table([{**line, "diverged": diverged[run]} for run, line in lines.items()])
        runs = with_ranked(table, fingerprints)
        if len(runs) < len(diverged):
            raise ValueError("rows without a run")
    return ReferenceResults(folder, runs, splits, fingerprints)


def read_fingerprints(members: Mapping[str, bytes]) -> pd.DataFrame:
    """Read the published splits from the members of an archive."""
    return pd.read_csv(io.BytesIO(members[FINGERPRINTS]))[list(FINGERPRINT_COLUMNS)]


def read_rows(members: Mapping[str, bytes]) -> pd.DataFrame:
    """Read the rows of splits as text, exactly as written; empty where missing."""
    return pd.read_csv(io.BytesIO(members[SPLITS]), dtype=str, keep_default_na=False)


def read_lines(members: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Read the lines of the runs, by run.

    Raises:
        ValueError: if two lines have the same run, or a line lacks one of `RUN_COLUMNS`.
    """
    lines = [json.loads(line) for line in members[RUNS].decode().splitlines()]
    by_run = {line["run"]: line for line in lines}
    if len(by_run) < len(lines) or any({*RUN_COLUMNS} - {*line} for line in lines):
        raise ValueError("a run occurs twice or is incomplete")
    return by_run


def as_numbers(rows: pd.DataFrame) -> pd.DataFrame:
    """Return text rows with numbers, and the column `cpu_ratio`."""
    numbers = [name for name in rows if name not in TEXT_COLUMNS]
    return with_cpu_ratio(rows.assign(**{name: pd.to_numeric(rows[name]) for name in numbers}))


def with_cpu_ratio(splits: pd.DataFrame) -> pd.DataFrame:
    """Add `cpu_ratio` to the rows of runs, as in `ReferenceResults.splits`."""
    reference = splits.groupby("run")["reference_seconds"].transform("median")
    return splits.assign(cpu_ratio=splits["cpu_seconds"] / reference)


def runs_table(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Return `ReferenceResults.runs` without `unranked`, sorted by data set and method."""
    rows = [
        {
            **line["record"]["metadata"],
            **{name: value for name, value in line.items() if name != "record"},
            "settings": flatten(line["record"]["identity"]),
            "code_versions": line["record"]["code_versions"],
        }
        for line in lines
    ]
    table = pd.DataFrame(rows).sort_values(["dataset", "method", "run"], kind="stable")
    return table.set_index("run")


def with_ranked(runs: pd.DataFrame, fingerprints: pd.DataFrame) -> pd.DataFrame:
    """Add the columns `incomplete` and `unranked`: why ranks leave a run out, or empty.

    Ranks contain runs on all published splits of a data set, except those that are `never_ranked`.
    Of each family they contain one preset: the one on most data sets (of several, the one with the
    name of the family, or the first in alphabetical order); of each of its configurations the run
    with the lowest seed.
    """
    published = fingerprints.groupby("dataset").size()
    rows = runs.to_dict("records")
    barred = [never_ranked(run) for run in rows]
    few = [missing_splits(run, published.get(run["dataset"], 0)) for run in rows]
    reasons = [", ".join([*own, *bar]) for own, bar in zip(few, barred, strict=True)]
    runs = runs.assign(incomplete=reasons)
    last = runs["method"].isin(runs.loc[list(map(bool, barred)), "method"])
    order = {"last": last} | preset_order(runs, ["track", "family", "method"])
    chosen = representatives(runs, order, [runs["track"], runs["family"]])
    first = runs["method"].loc[chosen].set_axis(runs.index)
    preset = "preset of " + runs["family"] + ", represented by " + first
    is_other = (runs["incomplete"] == "") & (runs["method"] != first)
    runs = runs.assign(unranked=runs["incomplete"].mask(is_other, preset))
    ranked = runs[runs["unranked"] == ""].sort_values("experiment", kind="stable")
    chosen = one_seed_each(ranked, [ranked["dataset"], ranked["track"]])
    others = chosen.index[chosen != chosen.index]
    runs.loc[others, "unranked"] = "the run with the lowest seed is ranked"
    return runs


def reference_runs(results: ReferenceResults, track: str | None = None) -> Runs:
    """Return the runs of a track in the form that comparisons, ranks and reports read.

    There are no folders of runs.

    Args:
        results: the results.
        track: one of `TRACKS`, by default the first.

    Raises:
        UserError: if the track is unknown or has no runs.
    """
    track = check_track(track)
    table = results.runs[results.runs["track"] == track]
    if table.empty:
        raise UserError(
            f"the reference results in {results.folder} have no run in track {track}.",
            "track",
            "empty_track",
        )
    splits = results.splits[results.splits["run"].isin(table.index)].reset_index(drop=True)
    splits = splits.assign(total_seconds=splits[PHASES].sum(axis=1, skipna=False))
    table = table.assign(variant="reference/" + table.index.astype(str))
    if track in PROTOCOL_TRACKS:  # settings are the protocol's; reading all of them takes seconds
        missing = [", ".join(missing_splits(run)) for run in table.to_dict("records")]
        table = table.assign(settings_differ=missing, mark=missing)
    else:
        table = with_differences(table)
    return Runs(results.folder, {KIND: table.join(to_wide(summarise_runs(splits)))}, splits, {})


def check_track(track: str | None) -> str:
    """Return a track, the first if None; raise a `UserError` if it is unknown."""
    if track is None:
        return next(iter(TRACKS))
    if track not in TRACKS:
        raise UserError(f"unknown track {with_known(track, TRACKS)}.", "track", "unknown_track")
    return track
