"""What `bnnbench compare` prints: comparisons of all pairs of runs, and with published results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bnnbench.notes import quantity
from bnnbench.report import blocks
from bnnbench.report.sections.results import comparison_rows, paired_difference
from bnnbench.report.sections.significance import (
    MAX_LISTED,
    TALLY_COLUMNS,
    difference_cell,
    list_names,
    needed_cell,
    p_value_text,
    power_statement,
)
from bnnbench.results.compare.outcomes import NOT_TESTED, rule, tally, with_outcomes
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, dataset_pairs, unpaired_messages
from bnnbench.results.compare.power import with_power
from bnnbench.results.compare.published_scores import (
    UNKNOWN_SETTINGS,
    pairs_with_published,
    with_published,
)
from bnnbench.results.compare.significance import add_names, compare_pairs, describe_shared_splits
from bnnbench.results.metric_table import BY_KEY, Metric, printed_in
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import ranked_pairs, tuned_runs, with_incomplete
from bnnbench.types import UserError

DIFFERS, DIVERGED = " *", " †"
"""Marks of runs whose settings differ from the published ones, and of runs with diverged splits."""

PAIR_COLUMNS = blocks.columns(
    {"a": "{a}", "b": "{b}"},
    {
        "a - b": difference_cell,
        "Holm p": lambda pair: p_value_text(pair["p_holm"]),
        "Detects": lambda pair: blocks.two_digits(pair["detectable"]),
        "Needs": needed_cell,
    },
)

PAIR_STATEMENT = (
    "a - b: mean difference on the shared splits and its interval. Holm p: adjusted p-value."
)


def pair_blocks(
    folders: Sequence[Runs], metrics: Sequence[Metric], rope: float
) -> Iterator[blocks.Block]:
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
    yield blocks.ItemList(tuple(
        describe_verdicts(own, BY_KEY[metric])
        for (metric, _), own in pairs.groupby(["metric", "dataset"], sort=False)
    ))  # fmt: skip
    for metric, own in pairs.groupby("metric", sort=False):
        yield from pair_tables(own, f"{BY_KEY[metric].inline_title} (ROPE {rope:g})")
    if len(ranked := ranked_pairs(pairs, table)):
        if len(folders) == 1:  # a mark on one data set makes no other method
            ranked = add_names(ranked, table["name"])
        yield blocks.fill(TALLY_COLUMNS, tally(ranked), title="outcomes against all others")
    yield blocks.Paragraph(f"{rule(rope)} {PAIR_STATEMENT}")
    yield blocks.Paragraph(power_statement())
    if notes := tuple(_pair_notes(folders, table)):
        yield blocks.ItemList(notes)


def pair_tables(pairs: pd.DataFrame, title: str) -> list[blocks.TableBlock]:
    """Return the named pairs by one metric, as parts of one table by data set."""
    return [
        blocks.fill(PAIR_COLUMNS, own, group=str(dataset), title=title, name=title)
        for dataset, own in with_power(pairs).groupby("dataset", sort=False)
    ]


def describe_verdicts(pairs: pd.DataFrame, metric: Metric) -> str:
    """Say which method is better than which on one data set by one metric."""
    found = pairs["outcome"]
    won = pd.concat([
        pairs.loc[found == "better", ["a", "b"]],
        pairs.loc[found == "worse", ["b", "a"]].set_axis(["a", "b"], axis=1),
    ])  # fmt: skip
    beaten = won.groupby("a")["b"].agg(list)
    parts = [
        f"{name} is significantly better than {list_names(beaten[name])}"
        for name in beaten.map(len).sort_values(ascending=False, kind="stable").index[:MAX_LISTED]
    ]
    if len(beaten) > MAX_LISTED:
        parts.append(
            f"{len(beaten) - MAX_LISTED} more methods are significantly better than others"
        )
    parts += [
        f"{count} of {len(pairs)} pairs {kind}"
        for kind in ("equivalent", "undecided", NOT_TESTED)
        if (count := int((found == kind).sum()))
    ]
    where = f"{pairs['dataset'].iloc[0]}, {metric.inline_title}, {describe_shared_splits(pairs)}"
    return f"{where}: {'; '.join(parts)}."


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


def _pair_notes(folders: Sequence[Runs], table: pd.DataFrame) -> Iterator[str]:
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


PUBLISHED_COLUMNS = blocks.columns(
    {"Method": "{label}"},
    {
        "Ours": blocks.with_stderr("mean", "stderr"),
        "Published": blocks.with_stderr("published"),
        "z": lambda row: blocks.format_z(row["z"]),
        "Ours - published": paired_difference,
    },
)

RIVAL_COLUMNS = (
    *blocks.columns({"Published": "{b}"}, {"Ours - published": difference_cell}),
    *PAIR_COLUMNS[3:],
)

PUBLISHED_STATEMENT = (
    "z: the difference of the means in combined standard errors; none if settings other than "
    "samples per step, test samples and the search objective differ, or are unknown. "
    "Ours - published: mean over splits with the same test rows ± its standard error, where scores "
    "of single splits were published."
)

UNKNOWN_STATEMENT = f"{UNKNOWN_SETTINGS} The settings of this method are unknown."


def published_blocks(runs: Runs, rope: float) -> Iterator[blocks.Block]:
    """Yield our means next to those of the same method, then tests against any method by split.

    Args:
        runs: ours.
        rope: as for `significance.rope_width`.

    Raises:
        UserError: if no published result is comparable with the runs.
    """
    rows = comparison_rows(with_published(runs), printed_in("published"))
    pairs = pairs_with_published(runs, rope)
    if rows.empty and pairs.empty:
        raise UserError(
            f"no published result is comparable with the runs below {runs.path}.", "--published"
        )
    for (metric, dataset), own in rows.groupby(["metric", "dataset"], sort=False):
        title = f"{metric}, published means of the same method"
        yield blocks.fill(PUBLISHED_COLUMNS, own, group=str(dataset), title=title, name=title)
    if len(rows):
        yield blocks.ItemList(tuple(_sources(rows)))
        yield blocks.Paragraph(PUBLISHED_STATEMENT)
    for metric, own in with_power(pairs).groupby("metric", sort=False):
        title = f"{BY_KEY[metric].title}, published scores of the same splits (ROPE {rope:g})"
        for (dataset, _), part in own.groupby(["dataset", "run_a"], sort=False):
            group = f"{dataset}, {part['a'].iloc[0]}"
            yield blocks.fill(RIVAL_COLUMNS, part, group=group, title=title, name=title)
    if pairs["b"].str.endswith(UNKNOWN_SETTINGS).any():
        yield blocks.Paragraph(UNKNOWN_STATEMENT)


def _sources(rows: pd.DataFrame) -> Iterator[str]:
    """Yield where the published means of a run are from, and how its settings differ."""
    keys = ["label", "source", "differs", "paired_splits"]
    for (label, source, differs, splits), own in rows.groupby(keys, sort=False):
        paired = f"; {splits} splits paired" if splits else ""
        differing = f"; settings that differ: {differs}" if differs else ""
        yield f"{label}, {', '.join(own['metric'].unique())}: {source}{paired}{differing}"
