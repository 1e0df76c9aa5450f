"""Pair the scores of runs on the splits that they share.

Splits are paired by the fingerprints of their test and training rows, not by number: split 3 of one
seed is not split 3 of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd

from bnnbench.experiment.store.split_files import SPLIT_KEY
from bnnbench.results.metric_table import Metric, printed_in
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs

MIN_COMMON_SPLITS = 3  # for a t-test: two common splits leave one degree of freedom
MAX_LISTED = 3  # pairs, or numbers of shared splits, listed in a sentence


@dataclass(frozen=True)
class SplitScores:
    """Scores of several runs on the same splits in the same order.

    Attributes:
        scores: by metric and run, `[S]`; NaN where the split diverged or was not run.
        test_fraction: by run, the fraction of rows in each split's test part, `[S]`; NaN where the
            split was not run.
        diverged: by run, 1 where the split diverged, `[S]`; NaN where it was not run.
    """

    scores: Mapping[str, Mapping[str, np.ndarray]]
    test_fraction: Mapping[str, np.ndarray]
    diverged: Mapping[str, np.ndarray]

    def has_split(self, run: str) -> np.ndarray:
        """Return which splits a run has finished, diverged or not, `[S]`."""
        return np.asarray(~np.isnan(self.test_fraction[run]))

    def indicator_matrix(self) -> pd.DataFrame:
        """Return `has_split` of all runs as ones and zeros, `[runs, S]`."""
        return pd.DataFrame({run: self.has_split(run) for run in self.test_fraction}).T.astype(int)


DatasetPairs = tuple[str, SplitScores, SplitScores, Iterable[tuple[str, str]]]
"""A data set, scores of the first run of each pair, scores of the second, and the pairs."""


def dataset_pairs(
    first: Runs, second: Runs | None = None, *, metrics: Sequence[Metric] = printed_in("pairs")
) -> Iterator[DatasetPairs]:
    """Yield the pairs of runs on each data set, in the order of their methods and labels.

    Without `second`, the runs are paired with each other.
    """
    positions = first.scored.groupby(["dataset", "method"], sort=False).ngroup()
    table = first.scored.assign(label=labels(first.scored), place=positions)
    for dataset, group in table.sort_values(["place", "label"]).groupby("dataset", sort=False):
        first_splits = first.splits[first.splits["run"].isin(group.index)]
        if second is None:
            scores = aligned_scores(first_splits, metrics)
            yield str(dataset), scores, scores, combinations(group.index, 2)
            continue
        second_runs = second.scored.index[second.scored["dataset"] == dataset]
        if second_runs.empty:
            continue
        second_splits = second.splits[second.splits["run"].isin(second_runs)]
        # Both folders may contain the same run with different numbers, so scores stay separate.
        keys = index_splits(first_splits).index.union(index_splits(second_splits).index).unique()
        ours, theirs = (
            aligned_scores(splits, metrics, keys) for splits in (first_splits, second_splits)
        )
        yield str(dataset), ours, theirs, product(group.index, second_runs)


def index_splits(splits: pd.DataFrame) -> pd.DataFrame:
    """Index rows of `Runs.splits` by their fingerprints and the number of earlier occurrences.

    On small data sets, several splits of a run may consist of the same rows.
    """
    earlier = splits.groupby(["run", *SPLIT_KEY]).cumcount().rename("earlier")
    return splits.set_index([*(splits[column] for column in SPLIT_KEY), earlier])


def aligned_scores(
    splits: pd.DataFrame, metrics: Sequence[Metric], keys: pd.Index | None = None
) -> SplitScores:
    """Return the scores of all runs on one data set.

    `keys` are the splits in the order of the scores, an index of `index_splits`; all by default.
    """
    indexed = index_splits(splits)
    fraction = indexed["test_rows"] / (indexed["training_rows"] + indexed["test_rows"])

    def by_run(column: pd.Series) -> dict[str, np.ndarray]:
        wide = (
            column.to_frame("value").set_index(indexed["run"], append=True)["value"].unstack("run")
        )
        wide = wide if keys is None else wide.reindex(keys)
        return {str(run): wide[run].to_numpy(float) for run in wide}

    scores = {metric.key: by_run(indexed[metric.key]) for metric in metrics}
    diverged = indexed.get("diverged", pd.Series(0, indexed.index))
    return SplitScores(scores, by_run(fraction), by_run(diverged))


def unpaired_messages(pairs_by_dataset: Iterable[DatasetPairs], names: pd.Series) -> list[str]:
    """Return a message per data set about pairs that share too few splits to be compared.

    Pairs in which one run has too few splits itself are not listed.
    """
    sentences = []
    for dataset, first, second, pairs in pairs_by_dataset:
        all_pairs = list(pairs)
        # One matrix product finds the rare pairs that share too few splits.
        n_first, n_second = first.indicator_matrix(), second.indicator_matrix()
        common = n_first @ n_second.T
        few = common.to_numpy() < MIN_COMMON_SPLITS
        n_first, n_second = n_first.to_numpy().sum(1), n_second.to_numpy().sum(1)
        enough = np.minimum.outer(n_first, n_second) >= MIN_COMMON_SPLITS
        too_few = {(common.index[a], common.columns[b]) for a, b in np.argwhere(few & enough)}
        unpaired = [f"{names[a]} and {names[b]}" for a, b in all_pairs if (a, b) in too_few]
        rest = f" and {len(unpaired) - MAX_LISTED} more" if len(unpaired) > MAX_LISTED else ""
        if unpaired:
            sentences.append(
                f"On {dataset} {len(unpaired)} of {len(all_pairs)} pairs of runs share fewer than "
                f"{MIN_COMMON_SPLITS} splits (they test different rows) and were not compared: "
                f"{'; '.join(unpaired[:MAX_LISTED])}{rest}."
            )
    return sentences
