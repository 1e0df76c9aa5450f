"""Scores of our runs in a paper's table, and their tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bnnbench.experiment.store.split_files import SPLIT_KEY
from bnnbench.results.compare.outcomes import compare_with, not_significantly_worse
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, dataset_pairs
from bnnbench.results.compare.significance import compare_pairs
from bnnbench.results.metric_table import Metric
from bnnbench.results.read.completeness import comparable_losses
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_summary import STATISTICS

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
