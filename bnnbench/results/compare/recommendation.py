"""Recommend a method for a data set: the fastest that is not significantly worse than the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.notes import join_words, with_interval
from bnnbench.portable_math import total_deviation
from bnnbench.results.compare.outcomes import Verdict, all_pairs, find_verdicts
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_files import read_test_points
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.calibration import pit_values
from bnnbench.results.score.run_notes import coverage_note
from bnnbench.types import UserError

SCORE = BY_KEY["log_likelihood"]
"""Methods are chosen by this metric because it rewards both accuracy and calibration."""

LEVEL = 0.9
"""Level of the intervals whose coverage is reported."""


@dataclass(frozen=True)
class Coverage:
    """Fractions of test targets inside the 90 % interval, not recalibrated.

    Attributes:
        whole: of all test points.
        thirds: of the thirds with the smallest, medium and largest predicted deviation.
    """

    whole: float
    thirds: tuple[float, float, float]

    def __str__(self) -> str:
        low, middle, high = self.thirds
        return (
            f"{self.whole:.0%} of the test targets: {low:.0%}, {middle:.0%} and {high:.0%} in the "
            "thirds of the rows with the smallest, medium and largest predicted deviation"
        )


def recommendation(runs: Runs) -> Verdict:
    """Compare all runs with the best one on their data set by the correlated t-test.

    Raises:
        UserError: if no run can be ranked.
    """
    found = [*find_verdicts(runs.scored, all_pairs(runs), SCORE)]
    if not found:
        reasons = sorted({*runs.scored["incomplete"]} - {""})
        raise UserError(
            f"no method can be recommended, since none is ranked ({', '.join(reasons)}); add "
            "another method to --methods.",
            "--methods",
            "none_ranked",
        )
    return found[0]


def recommended(verdict: Verdict) -> str:
    """Return the fastest run that is not significantly worse than the best."""
    runs = [verdict.best, *verdict.not_worse]
    return str(verdict.scores.loc[runs, "total_seconds_mean"].astype(float).idxmin())


def methods_table(
    verdict: Verdict, names: pd.Series, coverages: Mapping[str, Coverage | None]
) -> pd.DataFrame:
    """Return a row per run, the best first: means over splits, coverage, seconds and outcome."""
    scores, rivals = verdict.scores, verdict.others
    is_worse, lost = rivals["outcome"] == "worse", rivals["diverged"] > 0
    outcomes = rivals["outcome"].mask(is_worse & lost, "worse, some splits diverged").to_dict()
    outcomes |= {verdict.best: "best"}
    found = [coverages[run] for run in scores.index]
    return pd.DataFrame(
        {
            "log_likelihood": scores["log_likelihood_mean"],
            "rmse": scores["rmse_mean"],
            "coverage_90": [np.nan if one is None else one.whole for one in found],
            "seconds": scores["total_seconds_mean"],
            "outcome": [outcomes.get(run, "not compared") for run in scores.index],
        }
    ).set_axis(names[scores.index].rename("method"))


def sentences(
    verdict: Verdict,
    names: pd.Series,
    coverage: Coverage | None,
    settings: Mapping[str, Any],
) -> Iterator[str]:
    """Yield a recommendation in words.

    Args:
        verdict: on the data set.
        names: labels of the runs.
        coverage: of the recommended run.
        settings: of the recommended run, by dotted name.
    """
    best, top, chosen = names[verdict.best], verdict.scores.iloc[0], recommended(verdict)
    mean, error = (top[f"{SCORE.key}_{kind}"] for kind in ("mean", "stderr"))
    title, count = SCORE.inline_title, 1 + len(verdict.not_worse)
    seconds = verdict.scores.at[chosen, "total_seconds_mean"]
    yield (
        f"{verdict.dataset}: use {names[chosen]} ({seconds:.2g} s per split), the fastest of the "
        f"methods that are not significantly worse than the best by {title} ({count} of "
        f"{len(verdict.scores)})."
    )
    yield (
        f"{best} has the best {title}, {mean:.3f} ± {error:.3f} (mean ± standard error over "
        "splits)."
    )
    gaps = SCORE.sign * verdict.others["difference"]
    rivals = verdict.others.loc[gaps.sort_values(kind="stable").index]  # closest first
    tied = rivals[rivals.index.isin(verdict.not_worse)]
    if ties := [_describe(names[run], rival) for run, rival in tied.iterrows()]:
        yield f"Not significantly worse: {join_words(ties)}."
    if verdict.diverged:
        yield f"Diverged on every split: {join_words(names[run] for run in verdict.diverged)}."
    if verdict.incomplete:
        rest = (f"{names[run]} ({text})" for run, text in verdict.incomplete.items())
        yield f"Not ranked: {join_words(rest)}."
    if coverage is not None:
        yield f"The 90 % intervals of {names[chosen]} contain {coverage}."
        if text := coverage_note(coverage.whole, settings):
            yield f"Warning: {text}"


def _describe(name: str, rival: pd.Series) -> str:
    difference = with_interval(rival["difference"], rival["low"], rival["high"])
    return f"{name} ({rival['outcome']}, {difference})"


def coverage_by_deviation(runs: Runs, run: str) -> Coverage | None:
    """Compute the coverage of a run's 90 % intervals over the test points of all its splits.

    Returns:
        None if the run has no predictions.
    """
    points = read_test_points(runs.folders[run], runs.splits[runs.splits["run"] == run])
    if points is None:
        return None
    inside = np.abs(2 * pit_values(points) - 1) <= LEVEL
    order = np.argsort(total_deviation(points), kind="stable")
    low, middle, high = (float(inside[third].mean()) for third in np.array_split(order, 3))
    return Coverage(float(inside.mean()), (low, middle, high))
