"""The best run on each data set, and how the others compare with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pandas as pd

from bnnbench.results.compare.outcomes import NOT_WORSE, Outcome, compare_with_best
from bnnbench.results.metric_table import Metric
from bnnbench.results.read.completeness import comparable_losses


@dataclass(frozen=True)
class Verdict:
    """The best run on one data set, and the others compared with it.

    Attributes:
        dataset: the data set.
        metric: the metric.
        scores: the rows of `Runs.scored` on this data set that are ranked and have a mean, best
            first (`comparable_losses`).
        others: from `compare_with` the best run. Runs that share too few splits with it are
            missing.
        diverged: the runs without a mean, which diverged on every split.
        incomplete: why a run is not ranked, by run.
    """

    dataset: str
    metric: Metric
    scores: pd.DataFrame
    others: pd.DataFrame
    diverged: tuple[str, ...] = ()
    incomplete: Mapping[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """The digest of the best run."""
        return str(self.scores.index[0])

    def runs(self, outcome: Outcome) -> list[str]:
        """Return the runs with this outcome against the best, by their scores."""
        found = self.others.index[self.others["outcome"] == outcome]
        return [str(run) for run in self.scores.index if run in found]

    @property
    def not_worse(self) -> list[str]:
        """The other runs that are not significantly worse than the best."""
        rows = self.others["outcome"].isin(NOT_WORSE)
        return [str(run) for run in self.others.index[rows]]

    @property
    def untested(self) -> list[str]:
        """The runs that share too few splits with the best."""
        return [str(run) for run in self.scores.index[1:] if run not in self.others.index]


def find_verdicts(scored: pd.DataFrame, pairs: pd.DataFrame, metric: Metric) -> Iterator[Verdict]:
    """Yield a verdict on each data set, in their order.

    Args:
        scored: rows of `Runs.scored`.
        pairs: from `significance.compare_pairs`.
        metric: the metric.
    """
    ordered = scored.loc[comparable_losses(scored, metric).sort_values(kind="stable").index]
    pairs = pairs[pairs["metric"] == metric.key]
    for dataset in scored["dataset"].unique():
        every = ordered[ordered["dataset"] == dataset]
        has_mean = every[f"{metric.key}_mean"].notna()
        own, lost = every[has_mean], every.index[~has_mean]
        known, rest = own[own["incomplete"] == ""], own[own["incomplete"] != ""]
        if len(known):
            others = compare_with_best(known.index, pairs[pairs["dataset"] == dataset])
            incomplete = {str(run): text for run, text in rest["incomplete"].items()}
            yield Verdict(str(dataset), metric, known, others, tuple(map(str, lost)), incomplete)
