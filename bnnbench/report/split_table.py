"""What one finished run on splits says in words and numbers: its table, and notes below it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.numbers import plus_minus, spread, statement, unit_of, z_value
from bnnbench.report.section import Column, Table, numbers, words
from bnnbench.results.labels import mark
from bnnbench.results.metrics import BY_KEY, METRICS, heading_of
from bnnbench.results.mixing import MOST, unmixed
from bnnbench.results.published import counterpart, z_of
from bnnbench.results.published_settings import difference
from bnnbench.results.reader import row_of
from bnnbench.results.run_files import read_splits
from bnnbench.results.summary import SPREADS, summarise

Z_STATEMENT = (
    "z = (ours - published) in combined standard errors; on the same splits it is pessimistic, "
    "since what makes a split hard is in both errors."
)


def run_table(folder: RunFolder) -> Table:
    """The run's results, with the published values beside where known."""
    splits = read_splits(folder)
    summary = summarise(splits).to_dict("records")
    scores = {f"{row['metric']}_{name}": row[name] for row in summary for name in SPREADS}
    return scores_table({**row_of(folder, splits), **scores})


def scores_table(run: Mapping[str, Any]) -> Table:
    """The same of a run as a row of `Runs.scored`."""
    several, unit = run["splits"] > 1, unit_of(str(run["target"]))
    rows = []
    for key in (str(name)[: -len("_mean")] for name in run if str(name).endswith("_mean")):
        mean, error, std = (run[f"{key}_{name}"] for name in ("mean", "stderr", "std"))
        in_target = key in BY_KEY and BY_KEY[key].unit == "target"
        beside = published_cells(run, key)
        name = heading_of(key) + unit * in_target
        rows.append((name, plus_minus(mean, error), spread(std) if several else "", *beside))
    columns = (
        *words("metric"),
        *numbers(*(("mean ± stderr", "std") if several else ("value", ""))),
    )
    if any(row[3] for row in rows):
        columns = (*columns, *numbers("published", "z"), Column("source", "text"))
    return Table(
        columns,
        tuple(row[: len(columns)] for row in rows),
        title=f"{run['dataset']}, {run['method']}" + mark(run["settings_differ"]),
        caption=statement([run["splits"]]) + "; std = standard deviation over splits" * several,
    )


def published_cells(run: Mapping[str, Any], key: str) -> tuple[str, str, str]:
    """A published value, how far ours is from it, and where it stands.

    Args:
        run: of `row_of`, with mean and standard error of a metric.
        key: of the metric.
    """
    theirs = counterpart(run, key)
    if theirs is None:
        return "", "", ""
    z = z_of(run, key, theirs)
    # The method's name without its conditions, which results.csv spells out.
    source = theirs.source.partition(" (")[0]
    return plus_minus(theirs.mean, theirs.stderr), z_value(z), source


def run_notes(folder: RunFolder) -> list[str]:
    """What a reader of the numbers must know: lost splits, values on a bound, what z means."""
    splits = read_splits(folder)
    return notes_of(row_of(folder, splits), splits)


def notes_of(run: Mapping[str, Any], splits: pd.DataFrame) -> list[str]:
    """The same of a run as a row of `Runs.scored` and its rows of `splits.csv`."""
    notes = []
    lost = splits.loc[splits["diverged"] != 0, "split"].tolist()
    if lost:
        which = ", ".join(map(str, lost))
        notes.append(
            f"{len(lost)} of {len(splits)} splits diverged (split {which}); "
            "means and errors leave them out."
        )
    apart = unmixed(splits)
    if apart:
        notes.append(
            f"R-hat is above {MOST} at more than 5 % of the test points in {len(apart)} of "
            f"{len(splits)} splits: chains that disagree are no gold standard; "
            "run them for longer (training.final_epochs)."
        )
    edges = Counter(name for cell in splits["at_bound"] for name in re.findall(r"[\w.]+", cell))
    for name, count in sorted(edges.items()):
        notes.append(
            f"chosen {name} on a search bound in {count} of {len(splits)} splits; "
            "wider bounds might score better."
        )
    return [*notes, *published_notes(run)]


def published_notes(run: Mapping[str, Any]) -> list[str]:
    """In what the settings behind published values differ, and how z is to be read.

    Args:
        run: of `row_of`.
    """
    like = [theirs for metric in METRICS if (theirs := counterpart(run, metric.key))]
    sources = {theirs.method: theirs.source.partition(" (")[0] for theirs in like}
    found = {source: difference(run, method) for method, source in sources.items()}
    notes = [Z_STATEMENT] if any(one.slight for one in found.values()) else []
    notes += [
        f"the settings of {source} were not published: its values are a band, no target; z is left "
        "out."
        for source, one in found.items()
        if not one.known
    ]
    return notes + [
        f"{source} had other settings than {one.words}{'.' if one.slight else '; z is left out.'}"
        for source, one in found.items()
        if one.words and one.known
    ]
