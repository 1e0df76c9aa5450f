"""The results table of a run on train/test splits, and the notes below it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.blocks import Column, Table, label_columns, number_columns
from bnnbench.report.formatting import (
    describe_scores,
    format_std,
    format_z,
    plus_minus,
    unit_suffix,
)
from bnnbench.results.labels import difference_mark
from bnnbench.results.metrics import BY_KEY, METRICS, heading_of
from bnnbench.results.mixing import MAX_R_HAT, unmixed_splits
from bnnbench.results.published.settings import difference
from bnnbench.results.published.values import counterpart, run_z_score
from bnnbench.results.reader import run_row
from bnnbench.results.run_files import read_splits
from bnnbench.results.summary import STATISTICS, summarise

Z_STATEMENT = (
    "z = (ours - published) / combined standard error. If both use the same splits, z is "
    "conservative because the difficulty of a split contributes to both standard errors."
)


def run_table(folder: RunFolder) -> Table:
    """The run's results, next to published values where there are any."""
    splits = read_splits(folder)
    summary = summarise(splits).to_dict("records")
    scores = {f"{row['metric']}_{name}": row[name] for row in summary for name in STATISTICS}
    return scores_table({**run_row(folder, splits), **scores})


def scores_table(run: Mapping[str, Any]) -> Table:
    """The results table of a run."""
    several, unit = run["splits"] > 1, unit_suffix(str(run["target"]))
    rows = []
    for key in (str(name)[: -len("_mean")] for name in run if str(name).endswith("_mean")):
        mean, error, std = (run[f"{key}_{name}"] for name in ("mean", "stderr", "std"))
        in_target = key in BY_KEY and BY_KEY[key].unit == "target"
        published = published_cells(run, key)
        name = heading_of(key) + unit * in_target
        rows.append((name, plus_minus(mean, error), format_std(std) if several else "", *published))
    columns = (
        *label_columns("metric"),
        *number_columns(*(("mean ± stderr", "std") if several else ("value", ""))),
    )
    if any(row[3] for row in rows):
        columns = (*columns, *number_columns("published", "z"), Column("source", "text"))
    return Table(
        columns,
        tuple(row[: len(columns)] for row in rows),
        title=f"{run['dataset']}, {run['method']}" + difference_mark(run["settings_differ"]),
        caption=describe_scores([run["splits"]])
        + "; std = standard deviation over splits" * several,
    )


def published_cells(run: Mapping[str, Any], key: str) -> tuple[str, str, str]:
    """Cells with a published value, z and the source."""
    theirs = counterpart(run, key)
    if theirs is None:
        return "", "", ""
    z = run_z_score(run, key, theirs)
    # The conditions in parentheses are listed in results.csv.
    source = theirs.source.partition(" (")[0]
    return plus_minus(theirs.mean, theirs.stderr), format_z(z), source


def run_notes(folder: RunFolder) -> list[str]:
    """Notes on a run: diverged splits, values at a search bound, the meaning of z."""
    splits = read_splits(folder)
    return notes_of(run_row(folder, splits), splits)


def notes_of(run: Mapping[str, Any], splits: pd.DataFrame) -> list[str]:
    """Notes on a run."""
    notes = []
    lost = splits.loc[splits["diverged"] != 0, "split"].tolist()
    if lost:
        which = ", ".join(map(str, lost))
        notes.append(
            f"{len(lost)} of {len(splits)} splits diverged (split {which}) and are excluded from "
            "means and standard errors."
        )
    unmixed = unmixed_splits(splits)
    if unmixed:
        notes.append(
            f"R-hat is above {MAX_R_HAT} at more than 5 % of the test points in {len(unmixed)} of "
            f"{len(splits)} splits: the chains have not converged; run them for longer "
            "(training.final_epochs)."
        )
    edges = Counter(name for cell in splits["at_bound"] for name in re.findall(r"[\w.]+", cell))
    for name, count in sorted(edges.items()):
        notes.append(
            f"The chosen {name} is at a search bound in {count} of {len(splits)} splits; wider "
            "bounds might improve the scores."
        )
    return [*notes, *published_notes(run)]


def published_notes(run: Mapping[str, Any]) -> list[str]:
    """Notes on differences from the published settings and on the meaning of z."""
    values = [value for metric in METRICS if (value := counterpart(run, metric.key))]
    sources = {value.method: value.source.partition(" (")[0] for value in values}
    differences = {source: difference(run, method) for method, source in sources.items()}
    notes = [Z_STATEMENT] if any(one.comparable for one in differences.values()) else []
    notes += [
        f"The settings of {source} were not published, so its values are for orientation only and "
        "z is omitted."
        for source, one in differences.items()
        if not one.known
    ]
    return notes + [
        f"Settings that differ from {source}: {one.description}"
        + ("." if one.comparable else "; z is omitted.")
        for source, one in differences.items()
        if one.description and one.known
    ]
