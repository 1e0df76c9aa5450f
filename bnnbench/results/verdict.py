"""The best run on each data set, and how the others compare with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

from bnnbench.results.completeness import comparable_losses
from bnnbench.results.metrics import Metric
from bnnbench.results.significance import intervals, verdicts

Outcome = Literal["better", "worse", "equivalent", "undecided"]
"""Result of the correlated t-test for one run against another."""

OPPOSITE = {"a": "b", "b": "a"}


def compare_with(run: str, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons of all other runs with one run.

    Args:
        run: the digest of the run.
        pairs: from `significance.compare_pairs`, of one data set and metric.

    Returns:
        A row per other run, index its digest: its score minus that of `run` (`difference`), half
        the width of the interval of this difference (`error`), the probabilities `p_better`,
        `p_equivalent` and `p_worse`, the number of shared splits on which it alone `diverged`, and
        its `outcome` against `run`.
    """
    own = pairs[(pairs["run_a"] == run) | (pairs["run_b"] == run)]
    is_a = own["run_a"] == run
    winner = verdicts(own)
    winner = winner.mask(is_a, winner.replace(OPPOSITE))  # from the side of the other run
    columns = {
        "difference": own["difference"].mask(is_a, -own["difference"]),
        "error": intervals(own),
        "p_better": own["p_better"].mask(is_a, own["p_worse"]),
        "p_equivalent": own["p_equivalent"],
        "p_worse": own["p_worse"].mask(is_a, own["p_better"]),
        "diverged": own["diverged_a"].where(~is_a, own["diverged_b"]),
        "outcome": winner.replace({"a": "better", "b": "worse"}),
    }
    others = own["run_b"].where(is_a, own["run_a"])
    return pd.DataFrame(columns).set_index(pd.Index(others, name="run"))


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
            others = compare_with(str(known.index[0]), pairs[pairs["dataset"] == dataset])
            others = others[others.index.isin(known.index)]
            incomplete = {str(run): text for run, text in rest["incomplete"].items()}
            yield Verdict(str(dataset), metric, known, others, tuple(map(str, lost)), incomplete)
