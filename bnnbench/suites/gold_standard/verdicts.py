"""What the distances say: whether the chains suffice, and whether test scores tell the same."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.metrics import Metric
from bnnbench.results.mixing import MOST, R_HAT
from bnnbench.results.pairing import LEAST_SPLITS
from bnnbench.results.predictive_distances import rank_correlation
from bnnbench.results.significance import compare_scores, verdicts
from bnnbench.suites.gold_standard.comparison import DISTANCES, LOG_LIKELIHOOD, Comparison

W1 = DISTANCES[0]

TIMES = 5
"""How far below the nearest approximation the distance between halves of the chains has to be."""


def order(found: Comparison, metric: Metric) -> pd.Series:
    """Means over splits by run, the best first; runs without a number are left out."""
    means = found.means(metric).dropna()
    return means.iloc[np.argsort(metric.sign * means.to_numpy(), kind="stable")]


def ranks(found: Comparison, metric: Metric) -> pd.Series:
    """By run, 1 for the best; equals share the mean of their ranks."""
    return (metric.sign * found.means(metric)).rank()


def pairs(found: Comparison, metric: Metric) -> pd.DataFrame:
    """Every pair of compared runs by the correlated t-test.

    Returns:
        `run_a`, `run_b` and the verdict: `a`, `b`, `equivalent` or `undecided`; none where fewer
        than three splits are shared.
    """
    finite = found.methods.replace([np.inf, -np.inf], np.nan)
    wide = finite.pivot(index="run", columns="split", values=metric.key)
    tested = finite.pivot(index="run", columns="split", values="tested")
    runs = [str(run) for run in found.methods["run"].unique()]
    couples = [(a, b) for k, a in enumerate(runs) for b in runs[k + 1 :]]
    shared = [(a, b) for a, b in couples if (wide.loc[a] + wide.loc[b]).count() >= LEAST_SPLITS]
    table = pd.DataFrame(shared, columns=["run_a", "run_b"])
    if table.empty:
        return table.assign(verdict=[])
    a, b = (wide.loc[table[side]].to_numpy() for side in ("run_a", "run_b"))
    cells = compare_scores(a, b, tested.loc[table["run_a"]].to_numpy(), metric)
    return table.assign(verdict=verdicts(pd.DataFrame(cells)))


def convergence(reference: pd.DataFrame) -> tuple[bool, str]:
    """Whether the reference may be called a gold standard by its R-hat, and a sentence.

    Args:
        reference: its rows of `splits.csv`.
    """
    if R_HAT not in reference or reference[R_HAT].isna().any():
        return False, "The reference has no R-hat on record, so it is not called a gold standard."
    worst, apart = float(reference[R_HAT].max()), int((reference[R_HAT] > MOST).sum())
    if not apart:
        return True, (
            f"The chains count as converged: on each of {len(reference)} splits 95 % of the test "
            f"points have an R-hat of at most {worst:.3f}."
        )
    return False, (
        f"The chains have not converged on {apart} of {len(reference)} splits: more than 5 % of "
        f"the test points have an R-hat over {MOST}, up to {worst:.3g} at the 95 % quantile. They "
        "are no gold standard here."
    )


def length(found: Comparison) -> tuple[bool, str]:
    """Whether the chains are long enough to tell the nearest approximation, and a sentence."""
    floor, nearest = float(found.floor[W1.key].mean()), order(found, W1)
    if nearest.empty:
        return False, f"W1 between the halves of the chains is {floor:.3g}; nothing is beside it."
    times = nearest.iloc[0] / floor
    said = (
        f"W1 between the halves of the chains is {floor:.3g}, and of the nearest approximation, "
        f"{found.names[str(nearest.index[0])]}, {nearest.iloc[0]:.3g}: {times:.1f} times as much"
    )
    if times < TIMES:
        return False, f"{said}. At least {TIMES} times are asked for: the chains are too short."
    return True, f"{said}."


def nearest(found: Comparison) -> str:
    """The runs that nothing is credibly nearer than."""
    best, tested = order(found, W1), pairs(found, W1)
    if best.empty:
        return ""
    first = str(best.index[0])
    beaten = {
        str(pair.run_b if pair.run_a == first else pair.run_a)
        for pair in tested.itertuples()
        if (pair.run_a, pair.verdict) == (first, "a") or (pair.run_b, pair.verdict) == (first, "b")
    }
    level = [str(run) for run in best.index[1:] if str(run) not in beaten]
    named = f"Nearest by W1 is {found.names[first]}"
    if tested.empty:
        return f"{named}; of fewer than {LEAST_SPLITS} splits no test is made."
    others = ", ".join(found.names[run] for run in level)
    told = f"it is not told apart from {others}" if level else "all others are credibly farther"
    return f"{named}; {told} (correlated t-test)."


def agreement(found: Comparison) -> tuple[bool, str]:
    """Whether the rankings by W1 and by log-likelihood agree, and a sentence.

    They disagree where one run is credibly nearer to the posterior than another and credibly worse
    by log-likelihood; of fewer than three splits, where another one is first.
    """
    near, good = (list(map(str, order(found, metric).index)) for metric in (W1, LOG_LIKELIHOOD))
    if len(near) < 2 or {*near} != {*good}:
        return True, ""
    first, best = near[0], good[0]
    said = f"{found.names[first]} is nearest by W1"
    if first == best:
        said += ", and the best by log-likelihood"
    else:
        said += (
            f" and number {good.index(first) + 1} of {len(good)} by log-likelihood; "
            f"{found.names[best]} has the best log-likelihood and is number "
            f"{near.index(best) + 1} by W1"
        )
    places = (np.arange(len(near)), np.array([good.index(run) for run in near]))
    said += f". The rankings correlate by {rank_correlation(*places):.2f} (Spearman)"
    decided = pairs(found, W1).merge(pairs(found, LOG_LIKELIHOOD), on=["run_a", "run_b"])
    if decided.empty:
        return first == best, f"{said}; of fewer than {LEAST_SPLITS} splits no test is made."
    both = decided[decided[["verdict_x", "verdict_y"]].isin(["a", "b"]).all(axis=1)]
    against = int((both["verdict_x"] != both["verdict_y"]).sum())
    verdict = "the rankings disagree" if against else "where both decide, the rankings agree"
    return not against, (
        f"{said}. Of {len(decided)} pairs of methods both tests decide {len(both)}, and {against} "
        f"of these the other way round: {verdict}."
    )
