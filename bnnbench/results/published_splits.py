"""Published scores of single splits, and our runs paired with them.

What makes a split hard makes it hard for both, so that the mean difference over the splits is known
far better than two means apart: where MC dropout on boston has a standard error of 0.19, theirs and
ours, the paired difference has one of 0.03.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from bnnbench.results.published import Published, counterpart
from bnnbench.results.reader import Runs

METRICS = ("rmse", "log_likelihood")
"""Columns of `published_splits.csv` that are scores."""

LEAST_SPLITS = 2
"""In common, below which there is no standard error."""


@cache
def published_splits() -> pd.DataFrame:
    """Every published score of a single split, on the published splits, in original units.

    With the fingerprint of the rows that it tests, as `splits.csv` of a run has it.

    Of Gal & Ghahramani (2016) those of the first version of their repository, whose means are
    their Table 1.
    """
    with files("bnnbench.results").joinpath("published_splits.csv").open() as file:
        return pd.read_csv(file, dtype={"fingerprint": str})


def paired_with_published(runs: Runs) -> pd.DataFrame:
    """Our runs on published splits beside published scores of the same splits.

    Splits that test the same rows are the same, whatever their numbers.

    Returns:
        A row for each run that has any: the columns `dataset`, `method`, `source`, `splits` (in
        common) and for each metric `<metric>_ours`, `<metric>_theirs`, `<metric>_difference` (ours
        less theirs), `<metric>_stderr` (of that) and `<metric>_correlation`; index `run`.
    """
    published = published_splits()
    known = {*zip(published["dataset"], published["method"], strict=True)}
    found: dict[Any, dict[str, Any]] = {}
    for name, run in runs.scored.to_dict("index").items():
        theirs = counterpart(run, METRICS[0])
        if theirs and (run["dataset"], theirs.method) in known:
            row = _paired(run, runs.splits[runs.splits["run"] == name], theirs)
            found |= {name: row} if row else {}
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("run")


def _paired(run: Mapping[Any, Any], splits: pd.DataFrame, theirs: Published) -> dict[str, Any]:
    published = published_splits()
    own = (published["dataset"] == run["dataset"]) & (published["method"] == theirs.method)
    kept = splits[splits["diverged"] == 0]
    both = kept.merge(published[own], on="fingerprint", suffixes=("", "_theirs"))
    if len(both) < LEAST_SPLITS:
        return {}
    row = {"dataset": run["dataset"], "method": run["method"], "source": theirs.source}
    return {**row, "splits": len(both), **_differences(both)}


def _differences(both: pd.DataFrame) -> dict[str, float]:
    found: dict[str, float] = {}
    for metric in METRICS:
        ours, theirs = both[metric], both[f"{metric}_theirs"]
        difference = ours - theirs
        found |= {
            f"{metric}_ours": ours.mean(),
            f"{metric}_theirs": theirs.mean(),
            f"{metric}_difference": difference.mean(),
            f"{metric}_stderr": difference.sem(),
            f"{metric}_correlation": ours.corr(theirs),
        }
    return found
