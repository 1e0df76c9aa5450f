"""Checks of the reference chains, and comparison of rankings by distance and by test score."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from bnnbench.results.compare.outcomes import SIGNIFICANT, compare_with, with_outcomes
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS
from bnnbench.results.compare.significance import compare_scores
from bnnbench.results.metric_table import Metric
from bnnbench.results.score.chain_convergence import CONVERGENCE, ESS, R_HAT, unconverged_splits
from bnnbench.results.score.predictive_distances import rank_correlation
from bnnbench.suites.gold_standard.comparison import DISTANCES, LOG_LIKELIHOOD, Comparison

W1 = DISTANCES[0]

MIN_DISTANCE_RATIO = 5
"""Required ratio of the closest approximation's distance to that between halves of the chains."""


def sorted_means(comparison: Comparison, metric: Metric) -> pd.Series:
    """Means over splits by run, best first, without NaN."""
    means = comparison.means(metric).dropna()
    return means.iloc[np.argsort(metric.sign * means.to_numpy(), kind="stable")]


def ranks(comparison: Comparison, metric: Metric) -> pd.Series:
    """Ranks of the runs; 1 is best, and ties share their mean rank."""
    return (metric.sign * comparison.means(metric)).rank()


def compare_runs(comparison: Comparison, metric: Metric) -> pd.DataFrame:
    """Compare every pair of runs by the correlated t-test.

    Returns:
        Pairs as of `outcomes.with_outcomes`. Those with too few common splits are omitted.
    """
    finite = comparison.methods.replace([np.inf, -np.inf], np.nan)
    wide = finite.pivot(index="run", columns="split", values=metric.key)
    fractions = finite.pivot(index="run", columns="split", values="test_fraction")
    runs = [str(run) for run in comparison.methods["run"].unique()]
    pairs = [
        (a, b)
        for a, b in combinations(runs, 2)
        if (wide.loc[a] + wide.loc[b]).count() >= MIN_COMMON_SPLITS
    ]
    table = pd.DataFrame(pairs, columns=["run_a", "run_b"])
    if table.empty:
        return table.assign(outcome=[])
    a, b = (wide.loc[table[side]].to_numpy() for side in ("run_a", "run_b"))
    cells = compare_scores(a, b, fractions.loc[table["run_a"]].to_numpy(), metric)
    pairs = table.assign(dataset="", metric=metric.key, diverged_a=0, diverged_b=0, **cells)
    return with_outcomes(pairs)


def check_convergence(reference: pd.DataFrame) -> tuple[bool, str]:
    """Whether the reference chains have converged on every split, and a sentence."""
    if R_HAT not in reference or reference[R_HAT].isna().any():
        return False, "The reference has no stored R-hat, so its convergence is unknown."
    failed = len(unconverged_splits(reference))
    least = reference.reindex(columns=ESS).min(axis=None)
    worst = f"worst split: R-hat {reference[R_HAT].max():.3f}, ESS {least:.0f}"
    if not failed:
        return True, (
            f"The chains have converged: each of {len(reference)} splits has an {CONVERGENCE} "
            f"({worst})."
        )
    return False, (
        f"The chains have not converged on {failed} of {len(reference)} splits; convergence "
        f"requires {CONVERGENCE} ({worst})."
    )


def check_chain_length(comparison: Comparison) -> tuple[bool, str]:
    """Whether the chains are long enough to resolve the closest approximation, and a sentence."""
    halves = float(comparison.chain_halves[W1.key].mean())
    closest = sorted_means(comparison, W1)
    text = f"W1 between the two halves of the chains is {halves:.3g}"
    if closest.empty:
        return False, f"{text}; there is no approximation to compare with."
    ratio = closest.iloc[0] / halves
    text += (
        f". The closest approximation, {comparison.names[str(closest.index[0])]}, has "
        f"{closest.iloc[0]:.3g}, {ratio:.1f} times as much"
    )
    if ratio < MIN_DISTANCE_RATIO:
        return (
            False,
            f"{text}; the chains are too short (at least {MIN_DISTANCE_RATIO} is required).",
        )
    return True, f"{text}."


def describe_nearest(comparison: Comparison) -> str:
    """Name the run closest to the reference, and those not significantly farther."""
    best, tests = sorted_means(comparison, W1), compare_runs(comparison, W1)
    if best.empty:
        return ""
    first = str(best.index[0])
    text = f"Closest by W1: {comparison.names[first]}"
    if tests.empty:
        return f"{text} (not tested: fewer than {MIN_COMMON_SPLITS} common splits)."
    others = compare_with(first, tests)
    farther = {*others.index[others["outcome"] == "worse"]}
    ties = [comparison.names[str(run)] for run in best.index[1:] if str(run) not in farther]
    result = (
        f"not significantly closer than {', '.join(ties)}"
        if ties
        else "significantly closer than all others"
    )
    return f"{text}, {result} (correlated t-test, Holm)."


def check_agreement(comparison: Comparison) -> tuple[bool, str]:
    """Whether the rankings by W1 and by log-likelihood agree, and a sentence.

    They disagree if one run is significantly closer to the posterior than another and significantly
    worse by log-likelihood, or, with too few splits for tests, if the best runs differ.
    """
    by_distance, by_score = (
        list(map(str, sorted_means(comparison, metric).index)) for metric in (W1, LOG_LIKELIHOOD)
    )
    if len(by_distance) < 2 or {*by_distance} != {*by_score}:
        return True, ""
    closest, best = by_distance[0], by_score[0]
    if closest == best:
        text = f"{comparison.names[best]} is best by both W1 and log-likelihood"
    else:
        count = len(by_score)
        text = (
            f"{comparison.names[closest]} is closest by W1 and ranks {by_score.index(closest) + 1} "
            f"of {count} by log-likelihood; {comparison.names[best]} has the best log-likelihood "
            f"and ranks {by_distance.index(best) + 1} of {count} by W1"
        )
    ranks = (np.arange(len(by_distance)), np.array([by_score.index(run) for run in by_distance]))
    text += f". Spearman's correlation of the rankings is {rank_correlation(*ranks):.2f}"
    tests = compare_runs(comparison, W1).merge(
        compare_runs(comparison, LOG_LIKELIHOOD), on=["run_a", "run_b"]
    )
    if tests.empty:
        return (
            closest == best,
            f"{text} (not tested: fewer than {MIN_COMMON_SPLITS} common splits).",
        )
    decided = tests[tests[["outcome_x", "outcome_y"]].isin(SIGNIFICANT).all(axis=1)]
    opposite = int((decided["outcome_x"] != decided["outcome_y"]).sum())
    return not opposite, (
        f"{text}. By both, {len(decided)} of {len(tests)} pairs of methods differ significantly, "
        f"{opposite} "
        "of them in opposite directions."
    )
