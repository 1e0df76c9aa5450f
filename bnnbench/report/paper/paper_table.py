"""Contents of a paper's table: scores by method, data set and metric, and their tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bnnbench.experiment.store.split_files import SPLIT_KEY
from bnnbench.notes import join_words
from bnnbench.results.compare.outcomes import compare_with, not_significantly_worse
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, dataset_pairs
from bnnbench.results.compare.significance import compare_pairs
from bnnbench.results.metric_table import Metric
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_filter import NO_FILTER, RunFilter
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import STATISTICS, comparable_losses
from bnnbench.types import UserError

COMPARED = ("difference", "low", "high", "p_holm", "outcome")
"""Columns of `outcomes.compare_with` that a cell keeps."""

CellKey = tuple[str, str, str]
"""Data set, key of the entry, key of the metric."""

FEW_COMMON = f"fewer than {MIN_COMMON_SPLITS} common splits"
"""Why scores are not tested that too few splits have in common."""


@dataclass(frozen=True)
class ScoreCell:
    """One score over splits, in original units.

    Attributes:
        mean: mean over splits.
        stderr: standard error of the mean, or NaN.
        std: standard deviation over splits, or NaN.
        best: whether the mean is the best of several or `outcomes.not_significantly_worse`.
        decimals: number of decimals of a published mean; None for our own.
        untested: why the score of a run is not compared with the others; empty if it is, or if it
            has no rival.
        against_best: columns of the comparison with the best mean (`COMPARED`); empty if there is
            none.
        against_mine: as `against_best`, with the method of `--mine`.
    """

    mean: float
    stderr: float
    std: float
    best: bool = False
    decimals: int | None = None
    untested: str = ""
    against_best: Mapping[str, Any] = field(default_factory=dict)
    against_mine: Mapping[str, Any] = field(default_factory=dict)


NO_SCORE = ScoreCell(math.nan, math.nan, math.nan)

Tests = Mapping[str, Mapping[str, Any]]
"""Columns `COMPARED` by run."""


def own_cells(
    runs: Runs, table: pd.DataFrame, metrics: Sequence[Metric], mine: str
) -> Iterator[tuple[CellKey, ScoreCell]]:
    """Yield the scores of our runs, compared by significance tests on each data set.

    Args:
        runs: the runs.
        table: their scores, with `label`.
        metrics: the scores.
        mine: the label of the run on each data set with which the others are compared, or empty.
    """
    barred = untested_runs(runs, table)
    pairs = compare_pairs(dataset_pairs(runs, metrics=metrics), metrics=metrics)
    pairs = pairs[~(pairs["run_a"].isin(barred) | pairs["run_b"].isin(barred))]
    for dataset, group in table.groupby("dataset", sort=False):
        rivals = group[~group.index.isin(barred)]
        for metric in metrics:
            here = pairs[(pairs["dataset"] == dataset) & (pairs["metric"] == metric.key)]
            losses = comparable_losses(rivals, metric).dropna()
            best, own = losses.nsmallest(1).index, rivals.index[rivals["label"] == mine]
            against_best, against_mine = comparisons(best, here), comparisons(own, here)
            equal = not_significantly_worse(losses, here) if against_best else ()
            scored = {*rivals.index[rivals[f"{metric.key}_mean"].notna()]}
            few = scored if len(scored) > 1 and not against_best else set()
            few |= lacking(scored, best, against_best) | lacking(scored, own, against_mine)
            reasons = {**dict.fromkeys(few, FEW_COMMON), **barred}
            for run, row in zip(map(str, group.index), group.to_dict("records"), strict=True):
                mean, std, stderr = (float(row[f"{metric.key}_{kind}"]) for kind in STATISTICS)
                yield (
                    (str(dataset), row["label"], metric.key),
                    ScoreCell(
                        *(mean, stderr, std),
                        best=run in equal,
                        untested="" if math.isnan(mean) else reasons.get(run, ""),
                        against_best=against_best.get(run, {}),
                        against_mine=against_mine.get(run, {}),
                    ),
                )


def lacking(scored: set[str], reference: pd.Index, tests: Tests) -> set[str]:
    """Return the runs that are not tested against a run that others are tested with.

    Args:
        scored: the digests of the runs with a score.
        reference: the digest of the run to compare with; empty if there is none.
        tests: by run.
    """
    return scored - {*tests, *reference} if tests else set()


def comparisons(reference: pd.Index, pairs: pd.DataFrame) -> Tests:
    """Return the columns `COMPARED` by run.

    Args:
        reference: the digest of the run to compare with; empty if there is none.
        pairs: of one data set and metric, without runs that are never compared.
    """
    found = {}
    for run in reference:
        compared = compare_with(str(run), pairs)[[*COMPARED]]
        found.update({str(other): row for other, row in compared.to_dict("index").items()})
    return found


def untested_runs(runs: Runs, table: pd.DataFrame) -> dict[str, str]:
    """Return why runs are not compared with the others on their data sets, by run.

    They are incomplete or never ranked (`with_incomplete`), or their splits are not those of most
    complete runs on the data set. Of two equally frequent sets of splits, the larger is the usual
    one.
    """
    keys = pd.Series([*runs.splits[SPLIT_KEY].itertuples(index=False, name=None)])
    tested = keys.groupby(runs.splits["run"].to_numpy()).agg(frozenset)
    found = {str(run): why for run, why in table["incomplete"].items() if why}
    for _, group in table.groupby("dataset", sort=False):
        sets = tested[group.index[~group.index.isin(found)]]
        if sets.nunique() > 1:
            usual = max(sets, key=lambda one: (sum(sets == one), len(one)))
            found |= {str(run): f"{len(own)} other splits" for run, own in sets.items()
                      if own != usual}  # fmt: skip
    return found


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
        sources: the distinct sources of published values.
        runs: a comment on each run: data set, label, digest and differing settings.
        mine: the printed name of the method with which all others are compared, or empty.
        without_mine: printed names of the data sets on which other means are not compared with it,
            with the metrics unless it is all of them.
    """

    datasets: Mapping[str, str]
    entries: tuple[TableEntry, ...]
    metrics: Mapping[Metric, str]
    cells: Mapping[CellKey, ScoreCell]
    splits: tuple[int, ...]
    diverged_runs: tuple[str, ...]
    sources: tuple[str, ...]
    runs: tuple[str, ...]
    mine: str = ""
    without_mine: tuple[str, ...] = ()

    @property
    def has_comparison(self) -> bool:
        """Whether any score is compared with the best."""
        return any(cell.against_best for cell in self.cells.values())

    @property
    def has_marks(self) -> bool:
        """Whether any score is compared with that of the method of `--mine`."""
        return any(cell.against_mine for cell in self.cells.values())

    @property
    def untested(self) -> tuple[str, ...]:
        """A description of the runs of each method that are not tested, with the reason.

        For example `Vadam on boston and yacht (8 of 20 splits)`.
        """
        names = {one.key: one.name for one in self.entries}
        found: dict[tuple[str, str], dict[str, None]] = {}
        for (dataset, key, _), cell in self.cells.items():
            if cell.untested:
                places = found.setdefault((names[key], cell.untested), {})
                places[self.datasets[dataset]] = None
        return tuple(
            f"{name} on {join_words(places)} ({reason})" for (name, reason), places in found.items()
        )


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

    Raises:
        UserError: if that run is tested on no data set.
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
    check_mine(mine, cells)
    shown = {metric: names.get(metric.key, default_name(metric)) for metric in metrics}
    return PaperTable(
        datasets={name: names.get(name, name) for name in datasets},
        entries=tuple(entries),
        metrics=shown,
        cells=cells,
        splits=tuple(sorted({int(count) for count in table["splits"]})),
        diverged_runs=tuple(diverged_runs(table, names)),
        sources=tuple(source for source in dict.fromkeys(sources) if source),
        runs=tuple(run_comments(table)),
        mine=display_name(mine, ours[mine], names) if mine else "",
        without_mine=tuple(without_mine(mine, cells, shown, names)) if mine else (),
    )


def check_distinct_names(table: PaperTable) -> None:
    """Raise a `UserError` if two methods, data sets or metrics are printed under one name."""
    kinds = {
        "methods": [(one.key, (one.name, one.published)) for one in table.entries],
        "data sets": [(name, (text, False)) for name, text in table.datasets.items()],
        "metrics": [(metric.key, (text, False)) for metric, text in table.metrics.items()],
    }
    for kind, names in kinds.items():
        first: dict[tuple[str, bool], str] = {}
        for name, printed in names:
            other, text = first.setdefault(printed, name), printed[0]
            if other != name:
                shown = " and ".join(key.partition("\n")[0] for key in (other, name))
                raise UserError(
                    f"--rename: the {kind} {shown} would both be printed as "
                    f"{text!r}; choose different names.",
                    "--rename",
                    "same_name",
                )


def check_mine(mine: str, cells: Mapping[CellKey, ScoreCell]) -> None:
    """Raise a `UserError` if the method of `--mine`, unless it is empty, is never tested."""
    own = [cell for key, cell in cells.items() if key[1] == mine and math.isfinite(cell.mean)]
    if own and all(cell.untested for cell in own):
        reasons = join_words(dict.fromkeys(cell.untested for cell in own))
        raise UserError(
            f"--mine: {mine!r} is not tested ({reasons}); choose another method, or none.",
            "--mine",
            "not_tested",
        )


def without_mine(
    mine: str,
    cells: Mapping[CellKey, ScoreCell],
    metrics: Mapping[Metric, str],
    names: Mapping[str, str],
) -> Iterator[str]:
    """Yield `boston` or `boston (RMSE)` where tested runs are not compared with mine.

    Args:
        mine: the label of my method.
        cells: the scores.
        metrics: printed names by metric.
        names: printed names by data set.
    """
    compared = {key[::2] for key, cell in cells.items() if cell.against_mine}
    others = {
        key[::2]
        for key, cell in cells.items()
        if key[1] != mine and cell.decimals is None and not cell.untested
        if math.isfinite(cell.mean)
    }
    for dataset in dict.fromkeys(key[0] for key in cells):
        shown = [metric for metric in metrics if (dataset, metric.key) in others]
        missing = [metric for metric in shown if (dataset, metric.key) not in compared]
        if missing:
            which = join_words(name_in_sentence(metric, metrics[metric]) for metric in missing)
            yield names.get(dataset, dataset) + f" ({which})" * (missing != shown)


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


def published_cells(published: pd.DataFrame) -> Iterator[tuple[CellKey, ScoreCell]]:
    """Yield the published values. They are not tested and never marked as best."""
    for row in published.to_dict("records"):
        key = (row["dataset"], published_key(row["method"]), row["metric"])
        std = row["stderr"] * math.sqrt(row["n_splits"])
        yield key, ScoreCell(row["mean"], row["stderr"], std, decimals=int(row["decimals"]))


def diverged_runs(table: pd.DataFrame, names: Mapping[str, str]) -> Iterator[str]:
    """Yield `2 of 20 of Vadam on yacht` for each run with diverged splits."""
    for row in table[table["diverged"] > 0].to_dict("records"):
        name = display_name(row["label"], row["method"], names)
        dataset = names.get(row["dataset"], row["dataset"])
        yield f"{row['diverged']} of {row['splits']} of {name} on {dataset}"


def run_comments(table: pd.DataFrame) -> Iterator[str]:
    """Yield `boston: vadam, run 250dfd7c2333; settings differ: epochs 5` for each run."""
    for run, row in zip(table.index, table.to_dict("records"), strict=True):
        words = row["settings_differ"]
        more = f"; settings differ: {words}" if words else ""
        yield f"{row['dataset']}: {row['label']}, run {run}{more}"
