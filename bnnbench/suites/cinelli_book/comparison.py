"""The runs of the book's comparison (section 4.7), and its claims, tested on our numbers.

`seconds.csv` is the book's Table 4.3. Times are averaged over data sets by the geometric mean, so
that all data sets have equal weight and the mean of ratios is the ratio of means. Claims of section
4.7.5 about total time are also tested on the book's own table over the same data sets, because its
text rounds and does not say which mean it uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.claims.claims import (
    CORRECTED,
    CheckResult,
    Claim,
    NotTestable,
    Rule,
    check_better,
    check_claims,
    compare_together,
    count_datasets,
    count_outcomes,
    decide_by_splits,
    more_better,
)
from bnnbench.results.compare.outcomes import with_outcomes
from bnnbench.results.compare.significance import add_names, describe_shared_splits
from bnnbench.results.metric_table import printed_in
from bnnbench.results.published.protocol import has_protocol, noise_differences, setting_differences
from bnnbench.results.read.configurations import distinct_names

EXPERIMENT = "book_uci"

CONFIGURATIONS = {
    "bbb_x1": "BBBx1",
    "bbb_x2": "BBBx2",
    "vadam": "Vadam",
    "pbp": "PBP",
    "mc_dropout_x1": "MCDOx1",
    "mc_dropout_x10": "MCDOx10",
}
"""The book's name by our label, in the order of its Table 4.3."""

SCORES = {metric.key: metric.inline_title for metric in printed_in("figures")}
"""Printed names of the book's scores, RMSE and log-likelihood."""

SPLITS = 20
"""Number of splits of each data set, in the book and here."""


@dataclass(frozen=True)
class BookRuns:
    """The finished runs of the book's comparison.

    Attributes:
        runs: rows of `Runs.scored`, one per data set and configuration; may be empty.
        pairs: comparisons of runs on all `SPLITS` by `SCORES`, named by keys of `CONFIGURATIONS`;
            their p-values are adjusted over these pairs only.
        n_duplicates: number of runs left out because another run has their name.
        n_deviating: number of runs left out because their settings deviate from the protocol.
    """

    runs: pd.DataFrame
    pairs: pd.DataFrame
    n_duplicates: int = 0
    n_deviating: int = 0

    def table(self, metric: str) -> pd.DataFrame:
        """Return means of `metric`, a row per data set and a column per configuration."""
        wide = self.runs.pivot(index="dataset", columns="method", values=f"{metric}_mean")
        return wide.reindex(columns=list(CONFIGURATIONS))

    def printed(self) -> BookRuns:
        """Return the book's own numbers for these runs: total times (it only plots scores)."""
        keys = zip(self.runs["dataset"], self.runs["method"], strict=True)
        printed_runs = self.runs[["dataset", "method"]].assign(
            total_seconds_mean=[book_seconds().loc[key] for key in keys], fit_seconds_mean=np.nan
        )
        return BookRuns(printed_runs, self.pairs.iloc[:0])


def book_runs(table: pd.DataFrame, pairs: pd.DataFrame) -> BookRuns | None:
    """Select the runs of the book's comparison; None if there are none.

    These are the runs of `experiment=book_uci` on the book's data sets and configurations that
    follow the protocol. Of several seeds of a run, the one with the most splits is used, then the
    lowest seed; runs with other settings of their method are left out (`distinct_names`). `pairs`
    are `all_pairs` of the same runs.
    """
    candidates = table[
        (table["experiment"] == EXPERIMENT)
        & table["method"].isin(CONFIGURATIONS)
        & table["dataset"].isin(book_seconds().index)
    ]
    if candidates.empty:
        return None
    runs = candidates[[follows_protocol(run) for run in candidates.to_dict("records")]]
    return one_per_configuration(runs, pairs, len(candidates) - len(runs))


def one_per_configuration(
    runs: pd.DataFrame, pairs: pd.DataFrame, n_deviating: int = 0
) -> BookRuns:
    """Select one run of each data set and configuration, as `book_runs`.

    Args:
        runs: rows of `Runs.scored` that follow the protocol.
        pairs: `all_pairs` of these and perhaps other runs.
        n_deviating: number of runs that do not.
    """
    names = distinct_names(runs["method"], runs, ["dataset"])
    unique = runs[runs.index.isin(names.index[names.isin(CONFIGURATIONS)])]
    complete = unique[unique["splits"] >= SPLITS]
    named_pairs = add_names(pairs[pairs["metric"].isin(SCORES)], complete["method"])
    # Other runs in the folder must not change the correction for multiple tests.
    named_pairs = with_outcomes(named_pairs)
    return BookRuns(unique, named_pairs, len(runs) - len(unique), n_deviating)


def follows_protocol(run: Mapping[Any, Any]) -> bool:
    """Return whether a run has the settings of the book's comparison, with any number of splits."""
    return has_protocol(run) and not (noise_differences(run) or setting_differences(run))


@cache
def book_seconds() -> pd.DataFrame:
    """Return the book's Table 4.3: seconds by data set (row) and configuration (column).

    These are average wall-clock times of a whole training cycle, from search to final posterior.
    """
    table = pd.read_csv(str(files(__package__) / "seconds.csv"), index_col="dataset")
    return table[list(CONFIGURATIONS)].astype(float)


def geometric_mean(values: pd.Series | pd.DataFrame) -> Any:
    """Return the geometric mean of a series or of each column; NaN if empty."""
    return np.exp(np.log(values).mean())


TIME, SCORE = "4.7.5, Table 4.3", "4.7.5, Figs. 4.16 and 4.17"


def join_names(names: Sequence[str]) -> str:
    """Return the book's names of configurations, separated by commas."""
    return ", ".join(CONFIGURATIONS[name] for name in names)


def time_ratio(
    others: tuple[str, ...],
    base: str,
    low: float,
    high: float,
    pick: str = "fastest",
    seconds: str = "total",
) -> Rule:
    """The time of configurations relative to `base` lies between two numbers.

    Args:
        others: configurations whose time is divided by that of `base` (geometric means over data
            sets).
        base: the reference configuration.
        low: lower bound.
        high: upper bound.
        pick: whether the `fastest` or the `slowest` of the others must lie within the bounds.
        seconds: `total` or `fit`.
    """

    def check(suite: BookRuns) -> CheckResult:
        ours = suite.table(f"{seconds}_seconds")[[base, *others]].dropna()
        if ours.empty:
            raise NotTestable(f"no data set has runs of {join_names([base, *others])}")
        relative = geometric_mean(ours.div(ours[base], axis=0))[list(others)]
        value = relative.min() if pick == "fastest" else relative.max()
        ordered = relative.sort_values().items()
        values = ", ".join(f"{CONFIGURATIONS[str(name)]} {value:.3g}" for name, value in ordered)
        evidence = f"{seconds} time relative to {CONFIGURATIONS[base]}: {values}"
        return bool(low < value < high), f"{evidence} ({count_datasets(len(ours))})"

    subject = f"the {pick} of the others" if len(others) > 1 else join_names(others)
    return Rule(
        f"{seconds} time of {subject} / {CONFIGURATIONS[base]}, geometric mean over data sets, "
        f"is between {low:g} and {high:g}",
        check,
    )


def is_better(a: str, b: str) -> Rule:
    """Configuration `a` scores better than `b`, even if slightly."""

    def check(suite: BookRuns) -> CheckResult:
        result = check_better(suite.pairs, a, b)
        if result is None:
            raise NotTestable(f"no data set has runs of {join_names([a, b])} on all splits")
        return result

    return Rule(
        f"{CONFIGURATIONS[a]} is significantly better in more comparisons (data sets x RMSE and "
        f"log-likelihood) than worse ({CORRECTED}), and has the better mean in three quarters; "
        "contradicted if it is significantly worse in more",
        check,
    )


def has_rank(name: str, rank: int) -> Rule:
    """A configuration has this rank among the six in both scores."""

    def check(suite: BookRuns) -> CheckResult:
        rows = suite.pairs
        size = rows.groupby(["dataset", "metric"])["a"].transform("size")
        rows = rows[size == math.comb(len(CONFIGURATIONS), 2)]
        if rows.empty:
            names = join_names(list(CONFIGURATIONS))
            raise NotTestable(f"no data set has runs of {names} on all splits")
        compared = compare_together(rows, [name], all_except(name))

        def decide(compared: pd.DataFrame) -> bool | None:
            decisions = []
            for ahead, behind, _ in by_outcome(compared, name):
                first, last = 1 + len(ahead), len(CONFIGURATIONS) - len(behind)
                is_certain = True if first == last else None
                decisions.append(is_certain if first <= rank <= last else False)
            return False if False in decisions else None if None in decisions else True

        parts = []
        for title, lists in zip(SCORES.values(), by_outcome(compared, name), strict=True):
            named = zip(("behind", "ahead of", "even with"), lists, strict=True)
            words = [f"{word} {join_names(names)}" for word, names in named if names]
            parts.append(f"{title}: {', '.join(words)}")
        basis = f"{count_datasets(rows['dataset'].nunique())}, {describe_shared_splits(rows)}"
        evidence = f"{CONFIGURATIONS[name]}, {'; '.join(parts)} ({basis})"
        return decide_by_splits(compared, decide), evidence

    return Rule(
        f"rank {rank} both in RMSE and in log-likelihood: {rank - 1 or 'none'} of the other five "
        f"{'is' if rank == 2 else 'are'} better and the rest worse, significantly in more data "
        f"sets than the opposite ({CORRECTED}); contradicted if more are better or worse than "
        "this rank allows",
        check,
    )


def by_outcome(compared: pd.DataFrame, name: str) -> Iterator[tuple[list[str], ...]]:
    """Yield the configurations that are better, worse and neither, for each score.

    Args:
        compared: from `compare_together`.
        name: the configuration that they are compared with.
    """
    for metric in SCORES:
        own = compared[compared["metric"] == metric]
        better = {one: more_better(count_outcomes(own, name, one)) for one in all_except(name)}
        yield tuple(
            [one for one, holds in better.items() if holds is wanted]
            for wanted in (False, True, None)
        )


def all_except(name: str) -> tuple[str, ...]:
    """Return the other five configurations."""
    return tuple(other for other in CONFIGURATIONS if other != name)


def ratio_range(excess: float) -> tuple[float, float]:
    """Return the ratios that confirm "`excess` more": half to twice the excess."""
    return 1 + excess / 2, 1 + 2 * excess


RULES: dict[str, tuple[str, Rule]] = {
    "PBP trains fastest.": (TIME, time_ratio(all_except("pbp"), "pbp", 1, math.inf)),
    "PBP is 34 times faster than the runner-up.": (
        TIME,
        time_ratio(all_except("pbp"), "pbp", 17, 68),
    ),
    "Without hyper-parameter search, PBP would be the slowest on average.": (
        "4.7.5",
        time_ratio(all_except("pbp"), "pbp", 0, 1, "slowest", "fit"),
    ),
    "BBBx2 is by far the slowest.": (
        TIME,
        time_ratio(all_except("bbb_x2"), "bbb_x2", 0, 0.8, "slowest"),
    ),
    "BBBx2, with twice the samples, takes 80 % longer than BBBx1.": (
        TIME,
        time_ratio(("bbb_x2",), "bbb_x1", *ratio_range(0.8)),
    ),
    "Vadam takes 16 % longer than BBBx1.": (
        TIME,
        time_ratio(("vadam",), "bbb_x1", *ratio_range(0.16)),
    ),
    "Vadam trains faster than BBBx2.": (TIME, time_ratio(("vadam",), "bbb_x2", 0, 1)),
    "BBBx2 performs better than Vadam on average.": (SCORE, is_better("bbb_x2", "vadam")),
    "MCDOx1 takes 10 % longer than MCDOx10.": (
        TIME,
        time_ratio(("mc_dropout_x1",), "mc_dropout_x10", *ratio_range(0.1)),
    ),
    "MCDOx1 performs slightly but consistently better than MCDOx10.": (
        SCORE,
        is_better("mc_dropout_x1", "mc_dropout_x10"),
    ),
    "MCDOx1 performs best overall.": (SCORE, has_rank("mc_dropout_x1", 1)),
    "MCDOx10 performs second best.": (SCORE, has_rank("mc_dropout_x10", 2)),
    "PBP performs third best.": (SCORE, has_rank("pbp", 3)),
}
"""Section and rule of each claim, by its text."""

STATEMENTS = tuple((text, source, rule) for text, (source, rule) in RULES.items())


def claims(suite: BookRuns) -> list[Claim]:
    """Return every claim with its verdict on our numbers and on the book's own table."""
    return check_claims(STATEMENTS, suite, suite.printed())
