"""Contents of a paper's table: scores by method, data set and metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bnnbench.results.completeness import code_counts, comparable_losses, ranked_pairs
from bnnbench.results.labels import labels
from bnnbench.results.metrics import Metric
from bnnbench.results.outcomes import compare_with, not_significantly_worse
from bnnbench.results.pairing import dataset_pairs
from bnnbench.results.run_filter import NO_FILTER, RunFilter
from bnnbench.results.run_tables import Runs
from bnnbench.results.significance import compare_pairs
from bnnbench.results.split_summary import STATISTICS

COMPARED = ("difference", "low", "high", "p_holm", "outcome")
"""Columns of `outcomes.compare_with` that a cell keeps."""

CellKey = tuple[str, str, str]
"""Data set, key of the entry, key of the metric."""


@dataclass(frozen=True)
class ScoreCell:
    """One score over splits, in original units.

    Attributes:
        mean: mean over splits.
        stderr: standard error of the mean, or NaN.
        std: standard deviation over splits, or NaN.
        best: whether the mean is the best or `outcomes.not_significantly_worse`.
        decimals: number of decimals of a published mean; None for our own.
        other_splits: whether the splits are not those of the other runs on the data set.
        against_best: columns of the comparison with the best mean (`COMPARED`); empty if there is
            none.
        against_mine: as `against_best`, with the method of `--mine`.
    """

    mean: float
    stderr: float
    std: float
    best: bool = False
    decimals: int | None = None
    other_splits: bool = False
    against_best: Mapping[str, Any] = field(default_factory=dict)
    against_mine: Mapping[str, Any] = field(default_factory=dict)


NO_SCORE = ScoreCell(math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class TableEntry:
    """A method, or a method with particular settings.

    Attributes:
        key: unique identifier.
        method: the method's label, as in `--methods`.
        name: the printed name.
        published: whether the scores are published values instead of our runs.
    """

    key: str
    method: str
    name: str
    published: bool = False


@dataclass(frozen=True)
class PaperTable:
    """Contents of the table.

    Attributes:
        datasets: printed names by data set, in order.
        entries: the methods, in order.
        metrics: printed names by metric, in order.
        cells: the scores; some may be missing.
        splits: the distinct numbers of splits of the runs, ascending.
        diverged_runs: a description of each run with diverged splits.
        mixed_runs: a description of each run that several versions of the code computed.
        other_splits: a description of each run whose splits differ from those of its data set.
        sources: the distinct sources of published values.
        runs: a comment on each run: data set, label, digest and differing settings.
        mine: the printed name of the method with which all others are compared, or empty.
        without_mine: printed names of the data sets on which there is no such comparison.
    """

    datasets: Mapping[str, str]
    entries: tuple[TableEntry, ...]
    metrics: Mapping[Metric, str]
    cells: Mapping[CellKey, ScoreCell]
    splits: tuple[int, ...]
    diverged_runs: tuple[str, ...]
    mixed_runs: tuple[str, ...]
    other_splits: tuple[str, ...]
    sources: tuple[str, ...]
    runs: tuple[str, ...]
    mine: str = ""
    without_mine: tuple[str, ...] = ()

    @property
    def has_comparison(self) -> bool:
        """Whether any two of our runs have the same data set and metric."""
        own = {entry.key for entry in self.entries if not entry.published}
        scores = [key[::2] for key in self.cells if key[1] in own]
        return len(scores) > len(set(scores))


def paper_table(
    runs: Runs,
    metrics: Sequence[Metric],
    run_filter: RunFilter = NO_FILTER,
    names: Mapping[str, str] | None = None,
    mine: str = "",
) -> PaperTable:
    """Build the table of some runs.

    Args:
        runs: from `filter_runs`.
        metrics: the scores to print.
        run_filter: the order of methods and data sets. Other methods follow in alphabetical order,
            published ones last. Data sets without runs are included only if they are named.
        names: printed names by method, label, data set or metric.
        mine: the label of the run on each data set with which the others are compared; none if
            empty.
    """
    names = names or {}
    table = runs.scored.assign(label=labels(runs.scored))
    datasets = list(run_filter.datasets or dict.fromkeys(map(str, table["dataset"])))
    published = runs.user_published[
        runs.user_published["metric"].isin([metric.key for metric in metrics])
    ]
    published = published[published["dataset"].isin(datasets)]
    ours = dict(zip(table["label"], table["method"], strict=True))
    entries = [TableEntry(n, m, display_name(n, m, names)) for n, m in ours.items()]
    for method in dict.fromkeys(published["method"]):  # names of methods that ran apply to ours
        name = method if method in ours.values() else names.get(method, method)
        entries.append(TableEntry(published_key(method), method, name, published=True))
    sources = [f"{row['source']} {row['year']}".strip() for row in published.to_dict("records")]
    places = {method: place for place, method in enumerate(run_filter.methods)}
    entries.sort(key=lambda e: (places.get(e.method, len(places)), e.published, e.key))
    cells = dict([*own_cells(runs, table, metrics, mine), *published_cells(published)])
    compared = {key[0] for key, cell in cells.items() if cell.against_mine}
    return PaperTable(
        datasets={name: names.get(name, name) for name in datasets},
        entries=tuple(entries),
        metrics={metric: names.get(metric.key, default_name(metric)) for metric in metrics},
        cells=cells,
        splits=tuple(sorted({int(count) for count in table["splits"]})),
        diverged_runs=tuple(diverged_runs(table, names)),
        mixed_runs=tuple(mixed_runs(table, names)),
        other_splits=tuple(other_splits(runs, table, names)),
        sources=tuple(source for source in dict.fromkeys(sources) if source),
        runs=tuple(run_comments(table)),
        mine=display_name(mine, ours[mine], names) if mine else "",
        without_mine=tuple(
            names.get(name, name) for name in datasets if mine and name not in compared
        ),
    )


def default_name(metric: Metric) -> str:
    """The default column heading of a metric."""
    return f"{metric.title} time" if metric.unit == "s" else metric.title


def name_in_sentence(metric: Metric, name: str) -> str:
    """The printed name of a metric inside a sentence, where default names are in lower case."""
    default = default_name(metric)
    return name if name != default or metric.title.isupper() else default[0].lower() + default[1:]


def display_name(label: str, method: str, names: Mapping[str, str]) -> str:
    """The printed name of a label: its own, or its method's with the remaining settings."""
    rest = label.removeprefix(method)
    return names.get(label, names.get(method, method) + rest)


def published_key(method: str) -> str:
    """The key of a published entry. It contains a line break, which no label has."""
    return f"{method}\npublished"


def own_cells(
    runs: Runs, table: pd.DataFrame, metrics: Sequence[Metric], mine: str
) -> Iterator[tuple[CellKey, ScoreCell]]:
    """Yield the scores of our runs, compared by significance tests on each data set."""
    marked_runs = runs_on_other_splits(runs, table)
    pairs = ranked_pairs(
        compare_pairs(dataset_pairs(runs, metrics=metrics), metrics=metrics), table
    )
    for dataset, group in table.groupby("dataset", sort=False):
        for metric in metrics:
            here = pairs[(pairs["dataset"] == dataset) & (pairs["metric"] == metric.key)]
            losses = comparable_losses(group, metric).dropna()
            best = not_significantly_worse(losses, here)
            against_best = comparisons(losses.nsmallest(1).index, here)
            against_mine = comparisons(group.index[group["label"] == mine], here)
            for run, row in zip(map(str, group.index), group.to_dict("records"), strict=True):
                mean, std, stderr = (float(row[f"{metric.key}_{kind}"]) for kind in STATISTICS)
                yield (
                    (str(dataset), row["label"], metric.key),
                    ScoreCell(
                        *(mean, stderr, std),
                        best=len(group) > 1 and run in best,
                        other_splits=run in marked_runs,
                        against_best=against_best.get(run, {}),
                        against_mine=against_mine.get(run, {}),
                    ),
                )


def comparisons(reference: pd.Index, pairs: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return the columns `COMPARED` by run.

    Args:
        reference: the digest of the run to compare with; empty if there is none.
        pairs: of one data set and metric, without the runs that are no rivals.
    """
    found = {}
    for run in reference:
        compared = compare_with(str(run), pairs)[[*COMPARED]]
        found.update({str(other): row for other, row in compared.to_dict("index").items()})
    return found


def published_cells(published: pd.DataFrame) -> Iterator[tuple[CellKey, ScoreCell]]:
    """Yield the published values. They are not tested and never marked as best."""
    for row in published.to_dict("records"):
        key = (row["dataset"], published_key(row["method"]), row["metric"])
        std = row["stderr"] * math.sqrt(row["n_splits"])
        yield key, ScoreCell(row["mean"], row["stderr"], std, decimals=int(row["decimals"]))


def runs_on_other_splits(runs: Runs, table: pd.DataFrame) -> set[str]:
    """Return the runs whose test parts are not those of most complete runs on their data set.

    Of two equally frequent sets of splits, the larger is the usual one.
    """
    tested = runs.splits.groupby("run")["fingerprint"].agg(frozenset)
    found = set()
    for _, group in table.groupby("dataset", sort=False):
        sets, complete = tested[group.index], tested[group.index[group["incomplete"] == ""]]
        known = complete if len(complete) else sets
        usual = max(known, key=lambda one: (sum(known == one), len(one)))
        found |= {str(run) for run, own in sets.items() if own != usual}
    return found


def other_splits(runs: Runs, table: pd.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    """Yield `Vadam on boston (8)`, with the number of splits, for each run on other splits."""
    marked = runs_on_other_splits(runs, table)
    for run, row in zip(table.index, table.to_dict("records"), strict=True):
        if str(run) in marked:
            name = display_name(row["label"], row["method"], names)
            yield f"{name} on {names.get(row['dataset'], row['dataset'])} ({row['splits']})"


def diverged_runs(table: pd.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    """Yield `2 of 20 of Vadam on yacht` for each run with diverged splits."""
    for row in table[table["diverged"] > 0].to_dict("records"):
        name = display_name(row["label"], row["method"], names)
        dataset = names.get(row["dataset"], row["dataset"])
        yield f"{row['diverged']} of {row['splits']} of {name} on {dataset}"


def mixed_runs(table: pd.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    """Yield `Vadam on yacht` for each run that several versions of the code computed."""
    for row in table[code_counts(table) > 1].to_dict("records"):
        name = display_name(row["label"], row["method"], names)
        yield f"{name} on {names.get(row['dataset'], row['dataset'])}"


def run_comments(table: pd.DataFrame) -> Iterator[str]:
    """Yield `boston: vadam, run 250dfd7c2333; settings differ: epochs 5` for each run."""
    for run, row in zip(table.index, table.to_dict("records"), strict=True):
        words = row["settings_differ"]
        more = f"; settings differ: {words}" if words else ""
        yield f"{row['dataset']}: {row['label']}, run {run}{more}"
