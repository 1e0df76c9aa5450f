"""Differences from published scores in units of the error between runs with other seeds."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from stored_results import folders, table

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.results.claims.mean_tests import MeanTest, against_value, welch
from bnnbench.results.published.values import decimals

MIN_RUNS = 3
"""Fewest seeds from which a standard deviation is computed."""

SAME = 1e-6
"""Relative difference up to which two means are those of the same run."""


def with_run_to_run(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the difference from the published score in units of the run-to-run error.

    All runs have the same splits, so their difficulty does not enter the error. It is the root of
    `s^2 / K + t^2 / M` for the standard deviation s of the means of our K seeds, and t of the
    authors' M, if they stored theirs; otherwise `t = s` and `M = 1`. The error of rounding the
    published mean is added.

    Args:
        rows: of `published_scores.comparisons`.

    Returns:
        Them with `runs` (K), `runs_mean`, `runs_std` (s), `published_runs` (M), `run_to_run`, our
        mean over seeds minus the published one in units of that error, `limit`, the 95 % limit of
        Student's t with Welch's degrees of freedom (the error of rounding is known), and
        `is_close`, whether the difference is within this limit. Missing where fewer than
        `MIN_RUNS` seeds are stored.
    """
    found = pd.DataFrame([_run_to_run(row) for row in rows.to_dict("records")], rows.index)
    return rows.join(found)


def _run_to_run(row: dict[str, Any]) -> dict[str, Any]:
    names = ("runs", "runs_mean", "runs_std", "published_runs", "run_to_run", "limit", "is_close")
    ours = _our_seeds(row)
    if len(ours) < MIN_RUNS:
        return dict.fromkeys(names, np.nan)
    theirs, sample, std = _their_seeds(row), Sample.of(ours), ours.std(ddof=1)
    if len(theirs):
        test = welch(sample, Sample.of(theirs))
        test = replace(test, mean=sample.mean - row["published"])  # as printed
    else:
        test = MeanTest(sample.mean, math.hypot(sample.stderr, std), sample.size - 1)
        test = against_value(test, row["published"], _rounding(row["published"]))
    low, high = test.interval
    limit = (high - low) / 2 / test.stderr
    seeds = sample.size, sample.mean, std, max(1, len(theirs))
    values = *seeds, test.mean / test.stderr, limit, low <= 0 <= high
    return dict(zip(names, values, strict=True))


def _our_seeds(row: dict[str, Any]) -> np.ndarray:
    """Return the means of all seeds of a configuration, one of which is the compared run."""
    for runs in _seeds():
        column = f"{row['metric']}_mean"
        if (runs["dataset"].iloc[0], runs["method"].iloc[0]) != (row["dataset"], row["method"]):
            continue
        means = runs[column].to_numpy() if column in runs else np.array([])
        if np.isclose(means, row["ours"], rtol=SAME, atol=0).any():
            return means
    return np.array([])


@cache
def _seeds() -> list[pd.DataFrame]:
    """Return the stored runs that differ in their seed only, a table for each configuration."""
    found = []
    for folder in folders():
        runs = table(folder)
        if "seed" not in runs or "method" not in runs or runs["seed"].nunique() < MIN_RUNS:
            continue
        settings = [n for n in runs if "." in n and not n.startswith(("hp.", "diag."))]
        groups = runs.groupby(["dataset", "method", *settings], dropna=False)
        found += [own for _, own in groups if own["seed"].nunique() >= MIN_RUNS]
    return found


def _their_seeds(row: dict[str, Any]) -> np.ndarray:
    """Return the authors' means of single seeds, from `published_seeds.csv`."""
    known = table(".", "published_seeds")
    sources = known["source"] + " " + known["year"].astype(str) + ": " + known["method"]
    same = known[["dataset", "metric"]] == [row["dataset"], row["metric"]]
    return known.loc[same.all(axis=1) & (sources == row["source"]), "mean"].to_numpy()


def _rounding(published: float) -> float:
    """Return the standard deviation of the error of rounding to the printed decimals."""
    return 10.0 ** -decimals(str(published)) / math.sqrt(12)
