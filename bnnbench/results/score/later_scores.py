"""Scores that are computed afterwards from stored predictions, in one pass over all runs.

They are kept in the user's cache so that they are computed only once. An entry belongs to the
content of the files that its scores are computed from, and to this version of the code. The folders
of runs and reports contain no entries, because others may have written them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import KIND, PREDICTIONS
from bnnbench.files import READ_ERRORS, cache_folders, is_private, read_text, sha256, write_text
from bnnbench.results.metric_table import COMPUTED
from bnnbench.results.read.labels import labels
from bnnbench.results.read.readable_runs import use_readable
from bnnbench.results.read.run_filter import RunFilter, filter_runs
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import summarise_runs, to_wide
from bnnbench.results.score.conformal import split_intervals
from bnnbench.results.score.predictions import SplitPredictions, prediction_files, split_predictions
from bnnbench.results.score.proper_scores import split_proper_scores
from bnnbench.types import UserError

LIBRARIES = ("numpy", "scipy", "pandas", "scoringrules")
"""Libraries whose versions can change scores."""


def cached_scores(files: Collection[Path], compute: Callable[[], Any]) -> Any:
    """Return the scores that are computed from some files; a new result is kept.

    Args:
        files: all that the scores depend on; a file may be missing.
        compute: returns the scores as a JSON value. It may raise an error.
    """
    key = _key(files)
    folder = next(cache_folders("scores"), None) if key else None
    if folder is None:
        return compute()
    entry = folder / f"{key}.json"
    text = _read_entry(entry, key)
    if text is not None:
        return json.loads(text)
    scores = compute()
    if _key(files) == key:  # no file has changed meanwhile
        text = json.dumps(scores)
        with suppress(OSError):
            write_text(entry, f"{_seal(key, text)}\n{text}")
    return scores


def _key(files: Collection[Path]) -> str:
    """Return a digest of the names and contents of existing files; empty if one is unreadable."""
    try:
        contents = sorted((path.name, sha256(path)) for path in files if path.exists())
    except OSError:
        return ""
    return _digest(json.dumps(contents))


def _read_entry(entry: Path, key: str) -> str | None:
    """Return the scores in an entry as JSON; None unless it is intact and the user's own."""
    try:
        seal, _, text = read_text(entry).partition("\n")
        return text if is_private(entry) and seal == _seal(key, text) else None
    except (OSError, *READ_ERRORS):
        return None


def _seal(key: str, text: str) -> str:
    return _digest("\n".join((key, _code_version(), text)))


@cache
def _code_version() -> str:
    """Return a digest of the Python files of bnnbench and of the versions of `LIBRARIES`."""
    package = Path(__file__).parents[2]
    sources = [sha256(path) for path in sorted(package.rglob("*.py"))]
    return _digest(json.dumps([*sources, *map(version, LIBRARIES)]))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


Rows = dict[str, list[dict[str, Any]]]
"""Rows by name of their table."""

TABLES: Mapping[str, Callable[[SplitPredictions], list[dict[str, Any]]]] = {
    "intervals": split_intervals,
    "proper_scores": split_proper_scores,
}
"""Functions that return rows with the scores of a split, by name of their table."""


def select_runs_with_scores(runs: Runs, selection: RunFilter) -> Runs:
    """Return the selected runs that can be read, with their requested metrics.

    Raises:
        UserError: as `filter_runs`, or if a metric cannot be computed.
    """

    def select(readable: Runs) -> Runs:
        return with_computed_scores(filter_runs(readable, selection), selection.metrics)

    return use_readable(runs, select)[1]


def with_computed_scores(runs: Runs, metrics: Sequence[str]) -> Runs:
    """Add the requested metrics of `COMPUTED` to the splits and to the tables of scored runs.

    Raises:
        UserError: if no run has predictions to compute one from.
    """
    keys = [metric.key for metric in COMPUTED if metric.key in metrics]
    if not keys or runs.scored.empty:
        return runs
    scores = runs.cached(score_tables)["proper_scores"]
    for key in keys:
        if scores.empty or scores[key].isna().all():
            raise UserError(
                f"{key} cannot be computed: it needs runs with out-of-fold predictions on data "
                "that are not synthetic; use another --metric.",
                "--metric",
                "no_predictions",
            )
    splits = runs.splits.merge(scores[["run", "split", *keys]], "left", ["run", "split"])
    summary = to_wide(summarise_runs(splits))
    added = summary[[name for name in summary if name not in runs.scored]]
    tables = {**runs.tables, KIND: runs.scored.join(added)}
    return replace(runs, tables=tables, splits=splits)


def score_tables(runs: Runs) -> dict[str, pd.DataFrame]:
    """Return the tables of `TABLES` over the runs of any kind that saved predictions.

    The first columns of a table are `run`, `experiment`, `dataset`, `family` and `label`. Runs on
    synthetic data are left out, because their test points are a grid.
    """
    rows: Rows = {name: [] for name in TABLES}
    for run, record in _predicted(runs).iterrows():
        columns = {name: record[name] for name in ("experiment", "dataset", "family", "label")}
        for name, own in run_scores(runs.folders[str(run)]).items():
            rows[name] += [{"run": run, **columns, **row} for row in own]
    return {name: pd.DataFrame(own) for name, own in rows.items()}


def run_scores(folder: RunFolder) -> Rows:
    """Return the rows of a run in the tables of `TABLES`, which are computed only once."""

    def compute() -> Rows:
        rows: Rows = {name: [] for name in TABLES}
        for one in split_predictions(folder):
            for name, score in TABLES.items():
                rows[name] += score(one)
        return rows

    return dict(cached_scores(prediction_files(folder), compute))


def _predicted(runs: Runs) -> pd.DataFrame:
    """Return the records of the runs with predictions, with a `label`."""
    found = [
        table.loc[
            [
                run
                for run, synthetic in table["synthetic"].items()
                if not synthetic and runs.folders[str(run)].arrays(PREDICTIONS).exists()
            ]
        ]
        for table in runs.tables.values()
        if "synthetic" in table
    ]
    joined = pd.concat(found) if found else pd.DataFrame()
    return joined.assign(label=labels(joined)) if len(joined) else joined
