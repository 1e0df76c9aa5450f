"""Which of two runs is significantly better, and which is the best on each data set.

The rule of all tables, figures and claims: one run is significantly better than another if the
two-sided p-value of the correlated t-test, adjusted by Holm's method over all comparisons of one
data set and metric, is below `SIGNIFICANCE_LEVEL`. Every other pair is equivalent, if its interval
lies inside the region of practical equivalence, or undecided. A table of all pairs adjusts over all
of them, a comparison of one run with its rivals over these rivals. Claims adjust over all
comparisons that they need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from bnnbench.results.compare.pairing import dataset_pairs
from bnnbench.results.compare.significance import (
    INTERVAL,
    ROPE,
    SIGNIFICANCE_LEVEL,
    compare_pairs,
    holm,
)
from bnnbench.results.metric_table import BY_KEY, Metric
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.read.split_means import comparable_losses, tuned_runs

Outcome = Literal["better", "worse", "equivalent", "undecided"]
"""Outcome of the first run of a pair; better and worse are significant."""

OUTCOMES: tuple[Outcome, ...] = ("better", "equivalent", "undecided", "worse")

SIGNIFICANT = OUTCOMES[0], OUTCOMES[-1]

NOT_WORSE: tuple[Outcome, ...] = ("better", "equivalent", "undecided")
"""Outcomes of the runs that are as good as the best."""

NOT_TESTED = "not tested"
"""Replaces the outcome of a pair with a run that is never ranked."""

OPPOSITE = {"better": "worse", "worse": "better"}

FAMILY = ("dataset", "metric")
"""Columns in which pairs agree whose p-values are adjusted together."""

SWAPPED = (
    *(("run_a", "run_b"), ("a", "b"), ("diverged_a", "diverged_b"), ("mean_a", "mean_b")),
    *(("low", "high"), ("p_better", "p_worse")),
)
"""Columns of a pair that are swapped together with its runs."""


def rule(rope: float = ROPE) -> str:
    """Return the rule in words; `rope` as for `significance.rope_width`."""
    return (
        "A run is significantly better or worse than another if the two-sided correlated t-test on "
        f"their common splits gives p below {SIGNIFICANCE_LEVEL:g} after Holm's correction over "
        "all comparisons of one data set and metric. Other pairs are equivalent, if the "
        f"{INTERVAL} of the difference, which is not adjusted, is within {100 * rope:g} % (RMSE, "
        f"CRPS) or {rope:g} nats of zero, and undecided otherwise. A run that diverged on a common "
        "split, while the other did not, is significantly worse without a test."
    )


def short_rule(rope: float = ROPE) -> str:
    """Return the rule for one run and its rivals, in fewer words."""
    return (
        f"Significant: p below {SIGNIFICANCE_LEVEL:g} by the two-sided correlated t-test, after "
        f"Holm's correction over the methods of a data set. Equivalent: the {INTERVAL}, which is "
        f"not adjusted, is within {100 * rope:g} % (RMSE, CRPS) or {rope:g} nats of zero."
    )


def with_outcomes(
    pairs: pd.DataFrame, family: Sequence[str] = FAMILY, barred: Collection[str] = ()
) -> pd.DataFrame:
    """Add `p_holm`, the adjusted p-value, and `outcome`, an `Outcome`, to pairs.

    If only one run diverged on some shared split, it is significantly worse, whatever its other
    scores. If both did, on different splits, the pair is undecided. Such pairs need no test, so
    they have no interval and no p-values, and do not count in the correction.

    Args:
        pairs: all comparisons that are made, with `significance.COLUMNS`.
        family: columns in which pairs agree whose p-values are adjusted together.
        barred: digests of runs that are not tested: their pairs are `NOT_TESTED`.
    """
    if pairs.empty:
        return pairs.assign(p_holm=pd.Series(dtype=float), outcome=pd.Series(dtype=object))
    lost_a, lost_b = pairs["diverged_a"] > 0, pairs["diverged_b"] > 0
    untested = pairs["run_a"].isin(barred) | pairs["run_b"].isin(barred)
    blank = {name: pairs[name].mask(lost_a | lost_b) for name in ("low", "high", "p_value")}
    pairs = pairs.assign(**blank)
    p = pairs["p_value"].astype(float)[~untested].dropna()
    keys = [pairs.loc[p.index, name] for name in family]
    adjusted = p.groupby(keys).transform(lambda p: holm(p.to_numpy())).reindex(pairs.index)
    without_test = [
        (untested, NOT_TESTED),
        (lost_a & lost_b, "undecided"),
        (lost_b, "better"),
        (lost_a, "worse"),
    ]
    rules = [*without_test, *_tested_outcomes(pairs, adjusted)]
    holds, outcomes = [rule[0] for rule in rules], [rule[1] for rule in rules]
    outcome = np.select(holds, outcomes, default="undecided")
    return pairs.assign(p_holm=adjusted, outcome=pd.Series(outcome, pairs.index, dtype=object))


def _tested_outcomes(pairs: pd.DataFrame, adjusted: pd.Series) -> list[tuple[pd.Series, str]]:
    """Return for each outcome which pairs have it by their test; the first match counts."""
    significant, is_better = adjusted < SIGNIFICANCE_LEVEL, has_better_mean(pairs)
    inside = (pairs["low"] >= -pairs["rope"]) & (pairs["high"] <= pairs["rope"])
    return [(significant & is_better, "better"), (significant, "worse"), (inside, "equivalent")]


def has_better_mean(pairs: pd.DataFrame) -> pd.Series:
    """Return whether the first run of each pair has the better mean."""
    sign = pairs["metric"].map({key: metric.sign for key, metric in BY_KEY.items()})
    return sign * pairs["difference"] < 0


def all_pairs(runs: Runs, rope: float = ROPE) -> pd.DataFrame:
    """Compare all runs that share enough splits, in the order of labels, with their outcomes."""
    return with_outcomes(compare_pairs(dataset_pairs(runs), rope), barred=tuned_runs(runs.scored))


def mirrored(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs with their runs swapped."""
    present = [(a, b) for a, b in SWAPPED if a in pairs and b in pairs]
    names = {**{a: b for a, b in present}, **{b: a for a, b in present}}
    swapped = pairs.rename(columns=names)[list(pairs)]
    negated = {name: -swapped[name] for name in ("difference", "low", "high") if name in swapped}
    if "outcome" in swapped:
        negated["outcome"] = swapped["outcome"].replace(OPPOSITE)
    return swapped.assign(**negated)


def from_both_sides(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return every pair twice, its outcome adjusted over the rivals of its second run."""
    both = pd.concat([pairs, mirrored(pairs)], ignore_index=True)
    return with_outcomes(both, (*FAMILY, "run_b"))


def compare_with(run: str, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons of all other runs with one run.

    Args:
        run: the digest of the run.
        pairs: from `significance.compare_pairs`, of one data set and metric, without the runs that
            are never compared.

    Returns:
        A row per other run, index its digest: the columns of the pair with the other run as its
        first, `p_holm` and `outcome`, adjusted over these rows, and `diverged`, the number of
        shared splits on which the other run alone diverged.
    """
    is_a, is_b = pairs["run_a"] == run, pairs["run_b"] == run
    own = with_outcomes(pd.concat([pairs[is_b], mirrored(pairs[is_a])]).sort_index())
    return own.assign(diverged=own["diverged_a"]).set_index(pd.Index(own["run_a"], name="run"))


def compare_with_best(ranked: pd.Index, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons of ranked runs with the first of them, as `compare_with`.

    Args:
        ranked: digests of the runs on one data set, the best first.
        pairs: from `significance.compare_pairs`, of this data set and one metric.
    """
    rivals = pairs[["run_a", "run_b"]].isin(ranked).all(axis=1)
    return compare_with(str(ranked[0]), pairs[rivals])


def not_significantly_worse(losses: pd.Series, pairs: pd.DataFrame) -> set[str]:
    """Return the run with the lowest loss and all runs that are not significantly worse.

    Runs that share too few splits with the best are left out.

    Args:
        losses: of the runs on one data set (`comparable_losses`); runs without one are left out.
        pairs: the tests on this data set by this metric.
    """
    known = losses.dropna().sort_values(kind="stable").index
    if known.empty:
        return set()
    others = compare_with_best(known, pairs)
    return {str(known[0]), *others.index[others["outcome"].isin(NOT_WORSE)]}


def tally(pairs: pd.DataFrame) -> pd.DataFrame:
    """Count the outcomes of each name by metric, over data sets and opponents.

    Returns:
        Columns `metric`, `method` (the name), `better`, `equivalent`, `undecided` and `worse`.
    """
    words: list[str] = [*OUTCOMES]
    sides = pd.concat([pairs, mirrored(pairs)])
    rows = pd.DataFrame({
        "metric": pd.Categorical(sides["metric"], list(BY_KEY)),  # sorts by their table
        "method": sides["a"],
        **{word: sides["outcome"] == word for word in words},
    })  # fmt: skip
    counts = rows.groupby(["metric", "method"], observed=True)[words].sum().astype(int)
    return counts.reset_index().astype({"metric": object})


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
