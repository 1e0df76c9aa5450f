"""Our runs next to published values: means, z, and differences over common splits.

A hard split is hard for both, so the mean difference over splits is much more precise than the
difference of two means: MC dropout on boston has a standard error of 0.19, theirs and ours, whereas
that of the paired difference is 0.03.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.experiment.store.split_files import KIND, SIZES, SPLIT_KEY
from bnnbench.results.compare.outcomes import FAMILY, with_outcomes
from bnnbench.results.compare.pairing import dataset_pairs
from bnnbench.results.compare.significance import ROPE, add_names, compare_pairs
from bnnbench.results.metric_table import METRICS, Metric, printed_in
from bnnbench.results.published.values import (
    METHODS,
    Published,
    Values,
    counterpart,
    published_splits,
    run_difference,
    values_by_key,
)
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_tables import Runs

COLUMNS = ("published", "published_stderr", "published_std", "z", "source", "differs", "paired",
           "paired_stderr", "paired_splits")  # fmt: skip
"""Suffixes of the columns added for each metric."""

UNKNOWN_SETTINGS = "*"
"""Mark of published methods whose settings are unknown."""

ONE_GAUSSIAN = {"log_likelihood_gaussian": "log_likelihood"}
"""Our scores that a source with Gaussian forecasts reports under another name."""

MIN_SPLITS = 2
"""Minimum number of common splits for a standard error."""


def z_score(ours: float, our_stderr: float, theirs: float, their_stderr: float) -> float:
    """Return `ours - theirs` in combined standard errors; NaN if either error is unknown."""
    combined = math.hypot(our_stderr, their_stderr)
    return (ours - theirs) / combined if combined > 0 else math.nan


def run_z_score(run: Mapping[Any, Any], metric: str, theirs: Published) -> float:
    """Return the z-score of a run against a published value; NaN if major settings differ."""
    if not run_difference(run, theirs).comparable:
        return math.nan
    return z_score(run[f"{metric}_mean"], run[f"{metric}_stderr"], theirs.mean, theirs.stderr)


def with_published(runs: Runs, metrics: Sequence[Metric] = printed_in("published")) -> pd.DataFrame:
    """Add published values to the table of runs with scores.

    Returns:
        `Runs.scored` with the new columns `<metric>_published`, `<metric>_published_stderr`,
        `<metric>_published_std` (by its number of splits), `<metric>_z` (missing if major settings
        differ), `<metric>_source`, `<metric>_differs` (known differences of settings); and where
        single splits were published, `<metric>_paired` (mean of ours - theirs over splits with the
        same test rows), `<metric>_paired_stderr` and `<metric>_paired_splits` (their number).
        Missing where nothing comparable was published.
    """
    paired = runs.cached(paired_with_published)
    rows_of_pairs = zip(paired.index, paired.to_dict("records"), strict=True)
    pairs = {(run, row["source"]): row for run, row in rows_of_pairs}
    user_published = values_by_key(runs.user_published, by_user=True)
    rows = [
        {
            f"{metric.key}_{name}": cell
            for metric in metrics
            for name, cell in comparison_cells(
                {**run, "run": digest}, metric.key, pairs, user_published
            ).items()
        }
        for digest, run in runs.scored.to_dict("index").items()
    ]
    return runs.scored.join(pd.DataFrame(rows, runs.scored.index))


def comparison_cells(
    run: Mapping[Any, Any],
    metric: str,
    pairs: Mapping[tuple[str, str], Mapping[Any, Any]],
    user_published: Values,
) -> dict[str, Any]:
    """Return the cells of a run and a metric, by `COLUMNS`.

    `pairs` has the rows of `paired_with_published` by digest and source.
    """
    cells: dict[str, Any] = {**dict.fromkeys(COLUMNS, math.nan), "paired_splits": 0}
    theirs = counterpart(run, metric, user_published)
    if theirs is None:
        return {**cells, "source": "", "differs": ""}
    cells |= {
        "published": theirs.mean,
        "published_stderr": theirs.stderr,
        "published_std": theirs.std,
        "z": run_z_score(run, metric, theirs),
        "source": theirs.source,
        "differs": run_difference(run, theirs).description,
    }
    pair = pairs.get((run["run"], theirs.source), {})
    if f"{metric}_difference" in pair:
        cells |= {
            "paired": pair[f"{metric}_difference"],
            "paired_stderr": pair[f"{metric}_stderr"],
            "paired_splits": pair["splits"],
        }
    return cells


def paired_with_published(runs: Runs) -> pd.DataFrame:
    """Compare our runs with published scores of the same splits.

    Splits are paired by their test rows, not by number. The metrics of a run may have different
    sources, since a source need not have all metrics.

    Returns:
        A row for each run and source with common splits, index `run`: `dataset`, `method`,
        `source`, `splits` (in common) and for each metric `<metric>_ours`, `<metric>_theirs`,
        `<metric>_difference` (ours - theirs), its standard error `<metric>_stderr`, and
        `<metric>_correlation`; missing for metrics of other sources.
    """
    keys = [m.key for m in METRICS if ONE_GAUSSIAN.get(m.key, m.key) in published_splits()]
    rows = []
    for name, run in runs.scored.to_dict("index").items():
        found = {key: counterpart(run, key) for key in keys}
        theirs = {key: value for key, value in found.items() if value}
        splits = runs.splits[runs.splits["run"] == name]
        for source in dict.fromkeys(value.source for value in theirs.values()):
            own = {key: value for key, value in theirs.items() if value.source == source}
            rows.append({"run": name, **paired_row(run, splits, own)})
    return pd.DataFrame([row for row in rows if "source" in row] or {"run": []}).set_index("run")


def paired_row(
    run: Mapping[Any, Any], splits: pd.DataFrame, theirs: Mapping[str, Published]
) -> dict[str, Any]:
    """Return the row of `paired_with_published` of a run and a source.

    Args:
        run: its `dataset` and `method`.
        splits: its rows of `splits.csv`.
        theirs: values of one method by metric; their names count, not the means.

    Returns:
        Empty with fewer than `MIN_SPLITS` common splits.
    """
    first, published = next(iter(theirs.values())), published_splits()
    same_method = (published["dataset"] == run["dataset"]) & (published["method"] == first.method)
    valid = splits[splits["diverged"] == 0]
    both = valid.merge(published[same_method], on="fingerprint", suffixes=("", "_theirs"))
    if len(both) < MIN_SPLITS:
        return {}
    row = {"dataset": run["dataset"], "method": run["method"], "source": first.source}
    row["splits"] = len(both)
    for metric in theirs:
        ours, published_scores = both[metric], both[f"{ONE_GAUSSIAN.get(metric, metric)}_theirs"]
        difference = ours - published_scores
        row |= {
            f"{metric}_ours": ours.mean(),
            f"{metric}_theirs": published_scores.mean(),
            f"{metric}_difference": difference.mean(),
            f"{metric}_stderr": difference.sem(),
            f"{metric}_correlation": ours.corr(published_scores),
        }
    return row


def published_runs(runs: Runs) -> Runs:
    """Return the published scores of single splits as runs, on the splits that `runs` tested."""
    known = runs.splits[[*SPLIT_KEY, *SIZES]].drop_duplicates("fingerprint")
    rows = published_splits().merge(known, on="fingerprint")
    short = rows["method"].map(lambda name: name.split(" (")[0])
    unknown = rows["method"].map(lambda name: UNKNOWN_SETTINGS * METHODS[name].undocumented)
    names = short + ", " + rows["source"] + " " + rows["year"].astype(str) + unknown
    rows = rows.assign(run=names + " on " + rows["dataset"], label=names)
    tables = {KIND: rows.drop_duplicates("run").set_index("run")[["dataset", "label"]]}
    return Runs(runs.path, tables, rows, {})


def pairs_with_published(runs: Runs, rope: float = ROPE) -> pd.DataFrame:
    """Compare every run with every method whose single splits were published.

    Unlike `paired_with_published`, the published method may be another one.

    Returns:
        Pairs as of `outcomes.with_outcomes`, adjusted for each run of ours; the names `a` are our
        labels, and `b` is the method and its source, marked if its settings are unknown. Empty
        without common splits.
    """
    published = published_runs(runs)
    metrics = [metric for metric in METRICS if metric.key in published.splits]
    pairs = compare_pairs(dataset_pairs(runs, published, metrics=metrics), rope, metrics)
    scores = published.splits.melt("run", [metric.key for metric in metrics], "metric").dropna()
    was_published = pd.MultiIndex.from_frame(scores[["run", "metric"]])
    pairs = pairs[pd.MultiIndex.from_frame(pairs[["run_b", "metric"]]).isin(was_published)]
    pairs = with_outcomes(pairs, (*FAMILY, "run_a"))
    names = pd.concat([labels(runs.scored), published.scored["label"]])
    return add_names(pairs, names)
