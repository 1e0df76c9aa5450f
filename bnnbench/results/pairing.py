"""Which splits runs share, so that their scores may be compared one by one.

Splits are paired by the fingerprint of their test parts and never by their numbers, which say
nothing: split 3 of one seed is another one than split 3 of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.reader import Runs

LEAST_SPLITS = 3  # common ones, from which a t-test is made: two leave it one degree of freedom
MOST_NAMED = 3  # couples, or counts of their splits, that a sentence lists


@dataclass(frozen=True)
class SplitScores:
    """What some runs scored, on the same splits in the same order.

    Attributes:
        scores: by metric and run, `[S]`; NaN where the split diverged or did not run.
        tested: by run, the share of its rows that each split tests on, `[S]`; NaN where it did not
            run.
    """

    scores: Mapping[str, Mapping[str, np.ndarray]]
    tested: Mapping[str, np.ndarray]

    def has(self, run: str) -> np.ndarray:
        """Whether a run has each split, diverged or not, `[S]`."""
        return ~np.isnan(self.tested[run])

    def presence(self) -> pd.DataFrame:
        """The same of all runs, `[runs, S]`, as ones and zeros."""
        return pd.DataFrame({run: self.has(run) for run in self.tested}).T.astype(int)


Meeting = tuple[str, SplitScores, SplitScores, Iterable[tuple[str, str]]]
"""A data set, what the first and the second of each couple scored on it, and the couples."""


def meetings(
    first: Runs, second: Runs | None = None, *, metrics: Sequence[Metric] = printed_in("pairs")
) -> Iterator[Meeting]:
    """By data set, the couples that may be compared, in the order of their methods and labels.

    Args:
        first: runs, in the order in which their methods are.
        second: whose runs they meet; each other if not given.
        metrics: that are compared.
    """
    places = first.scored.groupby(["dataset", "method"], sort=False).ngroup()
    table = first.scored.assign(label=labels(first.scored), place=places)
    for dataset, group in table.sort_values(["place", "label"]).groupby("dataset", sort=False):
        own = first.splits[first.splits["run"].isin(group.index)]
        if second is None:
            scores = scores_of(own, metrics)
            yield str(dataset), scores, scores, combinations(group.index, 2)
            continue
        others = second.scored.index[second.scored["dataset"] == dataset]
        other = second.splits[second.splits["run"].isin(others)]
        # A folder may hold the same run as the other, with other numbers: each keeps its own.
        keys = keyed(own).index.union(keyed(other).index).unique()
        ours, theirs = scores_of(own, metrics, keys), scores_of(other, metrics, keys)
        yield str(dataset), ours, theirs, product(group.index, others)


def keyed(splits: pd.DataFrame) -> pd.DataFrame:
    """The rows by fingerprint and how often their run had that before: small sets repeat parts.

    Args:
        splits: rows of `Runs.splits`.
    """
    again = splits.groupby(["run", "fingerprint"]).cumcount().rename("again")
    return splits.set_index([splits["fingerprint"], again])


def scores_of(
    splits: pd.DataFrame, metrics: Sequence[Metric], keys: pd.Index | None = None
) -> SplitScores:
    """The scores of all runs of some rows.

    Args:
        splits: rows of `Runs.splits` on one data set.
        metrics: which scores.
        keys: which splits, in the order of the scores, an index of `keyed`; all if not given.
    """
    own = keyed(splits)
    share = own["test_rows"] / (own["training_rows"] + own["test_rows"])

    def by_run(column: pd.Series) -> dict[str, np.ndarray]:
        wide = column.to_frame("value").set_index(own["run"], append=True)["value"].unstack("run")
        wide = wide if keys is None else wide.reindex(keys)
        return {str(run): wide[run].to_numpy(float) for run in wide}

    scores = {metric.key: by_run(own[metric.key]) for metric in metrics}
    return SplitScores(scores, by_run(share))


def unpaired(met: Iterable[Meeting], names: pd.Series) -> list[str]:
    """A sentence for each data set on the couples that share too few splits to be compared.

    Those of which one has too few splits itself are not among them.

    Args:
        met: of `meetings`.
        names: of runs, by digest.
    """
    sentences = []
    for dataset, first, second, couples in met:
        every = list(couples)
        # Of many runs nearly all couples share enough, which one product of matrices says.
        here, there = first.presence(), second.presence()
        common = here @ there.T
        few = common.to_numpy() < LEAST_SPLITS
        here, there = here.to_numpy().sum(1), there.to_numpy().sum(1)
        enough = np.minimum.outer(here, there) >= LEAST_SPLITS
        found = {(common.index[a], common.columns[b]) for a, b in np.argwhere(few & enough)}
        strange = [f"{names[a]} and {names[b]}" for a, b in every if (a, b) in found]
        more = f" and {len(strange) - MOST_NAMED} more" if len(strange) > MOST_NAMED else ""
        if strange:
            sentences.append(
                f"On {dataset} {len(strange)} of {len(every)} pairs of runs share fewer than "
                f"{LEAST_SPLITS} splits (theirs test other rows), and nothing can be said of them: "
                f"{'; '.join(strange[:MOST_NAMED])}{more}."
            )
    return sentences
