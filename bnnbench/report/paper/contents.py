"""What stands in the table of a paper: the scores of some methods on some data sets."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bnnbench.results.choice import EVERYTHING, Choice
from bnnbench.results.labels import labels
from bnnbench.results.metrics import Metric
from bnnbench.results.pairing import meetings
from bnnbench.results.reader import Runs
from bnnbench.results.significance import not_worse, tested
from bnnbench.results.summary import SPREADS

Place = tuple[str, str, str]
"""Of a cell: data set, key of the contender, key of the metric."""


@dataclass(frozen=True)
class Cell:
    """One score over splits, in original units.

    Attributes:
        mean: over splits.
        stderr: its standard error, NaN where there is none.
        std: the standard deviation over splits, likewise.
        best: whether it is the best mean or not credibly worse, `significance.not_worse`.
        decimals: of the mean as it was published; None where it is not known only so far.
    """

    mean: float
    stderr: float
    std: float
    best: bool = False
    decimals: int | None = None


@dataclass(frozen=True)
class Contender:
    """A method, or a method under some settings.

    Attributes:
        key: tells it from the others.
        method: its label, by which it was asked for.
        name: as it is printed.
        published: whether it was brought from a paper, not run.
    """

    key: str
    method: str
    name: str
    published: bool = False


@dataclass(frozen=True)
class PaperTable:
    """The contents.

    Attributes:
        datasets: printed names by data set, in order.
        contenders: in order.
        metrics: printed names by metric, in order.
        cells: those that there are.
        splits: how many splits runs have, each number once, rising.
        lost: words on each run of which splits diverged.
        sources: of the published values, each once.
        runs: a line on each run: data set, label, digest, and in what its settings differ.
    """

    datasets: Mapping[str, str]
    contenders: tuple[Contender, ...]
    metrics: Mapping[Metric, str]
    cells: Mapping[Place, Cell]
    splits: tuple[int, ...]
    lost: tuple[str, ...]
    sources: tuple[str, ...]
    runs: tuple[str, ...]

    @property
    def rivals(self) -> bool:
        """Whether any two runs meet, so that one is best."""
        run = {contender.key for contender in self.contenders if not contender.published}
        found = [place[::2] for place in self.cells if place[1] in run]
        return len(found) > len(set(found))


def paper_table(
    runs: Runs,
    metrics: Sequence[Metric],
    choice: Choice = EVERYTHING,
    names: Mapping[str, str] | None = None,
) -> PaperTable:
    """The table of some runs.

    Args:
        runs: of `chosen`.
        metrics: which scores.
        choice: the order of methods and data sets. Others follow, methods in alphabetical order
            and published ones last; data sets that did not run are there only if they are named.
        names: to print, by method, label, data set or metric.
    """
    names = names or {}
    table = runs.scored.assign(label=labels(runs.scored))
    datasets = list(choice.datasets or dict.fromkeys(map(str, table["dataset"])))
    theirs = runs.beside[runs.beside["metric"].isin([metric.key for metric in metrics])]
    theirs = theirs[theirs["dataset"].isin(datasets)]
    found = [*own_contenders(table, names), *brought_contenders(theirs, table, names)]
    places = {method: place for place, method in enumerate(choice.methods)}
    found.sort(key=lambda one: (places.get(one.method, len(places)), one.published, one.key))
    return PaperTable(
        datasets={name: names.get(name, name) for name in datasets},
        contenders=tuple(found),
        metrics={metric: names.get(metric.key, usual_name(metric)) for metric in metrics},
        cells=dict([*own_cells(runs, table, metrics), *brought_cells(theirs)]),
        splits=tuple(sorted({int(count) for count in table["splits"]})),
        lost=tuple(lost(table, names)),
        sources=tuple(source for source in dict.fromkeys(named_sources(theirs)) if source),
        runs=tuple(told(table)),
    )


def usual_name(metric: Metric) -> str:
    """As the head of a column where no other name was given."""
    return f"{metric.title} time" if metric.unit == "s" else metric.title


def spoken(metric: Metric, name: str) -> str:
    """The printed name of a metric inside a sentence: as it was given, else in small letters."""
    usual = usual_name(metric)
    return name if name != usual or metric.title.isupper() else usual[0].lower() + usual[1:]


def own_contenders(table: pd.DataFrame, names: Mapping[str, str]) -> Iterator[Contender]:
    """One for each label, on however many data sets."""
    for label, method in dict(zip(table["label"], table["method"], strict=True)).items():
        yield Contender(str(label), str(method), renamed(str(label), str(method), names))


def renamed(label: str, method: str, names: Mapping[str, str]) -> str:
    """A label under the names that were given: its own, or that of its method."""
    rest = label.removeprefix(method)
    return names.get(label, names.get(method, method) + rest)


def brought_contenders(
    theirs: pd.DataFrame, table: pd.DataFrame, names: Mapping[str, str]
) -> Iterator[Contender]:
    """One for each published name; a name that was given to a run is not theirs."""
    for method in dict.fromkeys(theirs["method"]):
        name = method if method in set(table["method"]) else names.get(method, method)
        yield Contender(published_key(method), method, name, published=True)


def named_sources(theirs: pd.DataFrame) -> list[str]:
    """`Smith et al. 2024` of each published value, empty where nobody says."""
    return [f"{row['source']} {row['year']}".strip() for row in theirs.to_dict("records")]


def published_key(method: str) -> str:
    """Of a contender: no label has a line break."""
    return f"{method}\npublished"


def own_cells(
    runs: Runs, table: pd.DataFrame, metrics: Sequence[Metric]
) -> Iterator[tuple[Place, Cell]]:
    """The scores of the runs, tested against each other on each data set."""
    pairs = tested(meetings(runs, metrics=metrics), metrics=metrics)
    for dataset, group in table.groupby("dataset", sort=False):
        for metric in metrics:
            here = pairs[(pairs["dataset"] == dataset) & (pairs["metric"] == metric.key)]
            best = not_worse(group[f"{metric.key}_mean"], here, metric)
            for run, row in zip(group.index, group.to_dict("records"), strict=True):
                mean, std, stderr = (float(row[f"{metric.key}_{kind}"]) for kind in SPREADS)
                marked = len(group) > 1 and str(run) in best
                yield (str(dataset), row["label"], metric.key), Cell(mean, stderr, std, marked)


def brought_cells(theirs: pd.DataFrame) -> Iterator[tuple[Place, Cell]]:
    """The published values; no test has them, so none is ever the best."""
    for row in theirs.to_dict("records"):
        place = (row["dataset"], published_key(row["method"]), row["metric"])
        std = row["stderr"] * math.sqrt(row["n_splits"])
        yield place, Cell(row["mean"], row["stderr"], std, decimals=int(row["decimals"]))


def lost(table: pd.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    """`2 of 20 of Vadam on yacht`, for each run of which splits diverged."""
    for row in table[table["diverged"] > 0].to_dict("records"):
        name = renamed(row["label"], row["method"], names)
        dataset = names.get(row["dataset"], row["dataset"])
        yield f"{row['diverged']} of {row['splits']} of {name} on {dataset}"


def told(table: pd.DataFrame) -> Iterator[str]:
    """`boston: vadam, run 250dfd7c2333; settings differ: epochs 5`, for each run."""
    for run, row in zip(table.index, table.to_dict("records"), strict=True):
        words = row["settings_differ"]
        more = f"; settings differ: {words}" if words else ""
        yield f"{row['dataset']}: {row['label']}, run {run}{more}"
