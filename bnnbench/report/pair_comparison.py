"""The comparison of all pairs of runs that `bnnbench compare` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bnnbench.notes import quantity
from bnnbench.report.blocks import Block, ItemList, Paragraph, fill
from bnnbench.report.pair_tables import (
    PAIR_STATEMENT,
    describe_verdicts,
    pair_tables,
    power_statement,
)
from bnnbench.report.sections.significance import COLUMNS
from bnnbench.results.compare.outcomes import rule, tally, with_outcomes
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, dataset_pairs, unpaired_messages
from bnnbench.results.compare.significance import add_names, compare_pairs
from bnnbench.results.metric_table import BY_KEY, Metric
from bnnbench.results.read.completeness import ranked_pairs, tuned_runs, with_incomplete
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.types import UserError

DIFFERS, DIVERGED = " *", " †"
"""Marks of runs whose settings differ from the published ones, and of runs with diverged splits."""


def pair_blocks(folders: Sequence[Runs], metrics: Sequence[Metric], rope: float) -> Iterator[Block]:
    """Yield verdicts, tables by metric, counts of outcomes, and notes.

    Args:
        folders: one, whose runs are compared with each other, or two.
        metrics: the metrics.
        rope: as for `significance.rope_width`.

    Raises:
        UserError: if there is nothing to compare.
    """
    table = _named(folders)
    pairs = _pairs(folders, table["label"], metrics, rope)
    if pairs.empty:
        raise _nothing_to_compare(table)
    yield ItemList(tuple(
        describe_verdicts(own, BY_KEY[metric])
        for (metric, _), own in pairs.groupby(["metric", "dataset"], sort=False)
    ))  # fmt: skip
    for metric, own in pairs.groupby("metric", sort=False):
        yield from pair_tables(own, f"{BY_KEY[metric].inline_title} (ROPE {rope:g})")
    if len(ranked := ranked_pairs(pairs, table)):
        if len(folders) == 1:  # a mark on one data set makes no other method
            ranked = add_names(ranked, table["name"])
        yield fill(COLUMNS, tally(ranked), title="outcomes against all others")
    yield Paragraph(f"{rule(rope)} {PAIR_STATEMENT}")
    yield Paragraph(power_statement())
    if notes := tuple(_notes(folders, table)):
        yield ItemList(notes)


def _named(folders: Sequence[Runs]) -> pd.DataFrame:
    """Return the runs of all folders with their `name` and, in `label`, also their marks."""
    every = pd.concat([runs.scored for runs in folders])
    table = every[~every.index.duplicated()]
    splits = pd.concat([runs.splits.assign(place=k) for k, runs in enumerate(folders)])
    first = splits[splits["place"] == splits.groupby("run")["place"].transform("min")]
    table = with_incomplete(table, first).assign(name=labels(table))
    differs = table["mark"].map(lambda mark: DIFFERS if mark else "")
    diverged = table["diverged"].map(lambda count: DIVERGED if count else "")
    return table.assign(label=table["name"] + differs + diverged)


def _pairs(
    folders: Sequence[Runs], names: pd.Series, metrics: Sequence[Metric], rope: float
) -> pd.DataFrame:
    """Return all pairs, with distinct names of their runs."""
    tested = compare_pairs(dataset_pairs(*folders, metrics=metrics), rope, metrics)
    barred = set[str]().union(*(tuned_runs(runs.scored) for runs in folders))
    pairs = with_outcomes(tested, barred=barred)
    if len(folders) == 1:
        return add_names(pairs, names)
    a, b = pairs["run_a"].map(names), pairs["run_b"].map(names)
    return pairs.assign(a=a.where(a != b, a + " (1st)"), b=b.where(a != b, b + " (2nd)"))


def _nothing_to_compare(table: pd.DataFrame) -> UserError:
    """Return the error that says why there is no pair of runs."""
    if table["dataset"].is_unique:
        names = ", ".join(table["name"] + " on " + table["dataset"])
        return UserError(
            f"there is only one run per data set ({names}); run another method on the same splits, "
            "or give a second folder.",
            "PATH",
            "one_run",
        )
    return UserError(
        f"no two of these runs have {MIN_COMMON_SPLITS} common splits (with the same test rows)"
        "; run more splits (splits=all), or the same ones.",
        "PATH",
        "few_common_splits",
    )


def _notes(folders: Sequence[Runs], table: pd.DataFrame) -> Iterator[str]:
    """Yield notes on marked runs, and on those that are not compared or not ranked."""
    rows = [(f"{row['name']} on {row['dataset']}", row) for row in table.to_dict("records")]
    for name, row in rows:
        if row["mark"]:
            yield f"{DIFFERS.strip()} {name}: settings differ: {row['mark']}"
    for name, row in rows:
        if row["diverged"]:
            splits = quantity(row["splits"], "split")
            text = f"{row['diverged']} of {splits} diverged and are left out"
            yield f"{DIVERGED.strip()} {name}: {text}"
    for name, row in rows:
        if row["splits"] < MIN_COMMON_SPLITS:
            yield f"{name}: not compared, since it has fewer than {MIN_COMMON_SPLITS} splits"
        elif row["incomplete"]:
            yield f"{name}: not ranked, {row['incomplete']}"
    yield from unpaired_messages(dataset_pairs(*folders), table["label"])
