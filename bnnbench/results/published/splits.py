"""Published scores of single splits, paired with our runs.

A hard split is hard for both, so the mean difference over splits is much more precise than the
difference of two means: MC dropout on boston has a standard error of 0.19, theirs and ours, whereas
that of the paired difference is 0.03.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from bnnbench.experiment.split_files import KIND
from bnnbench.results.labels import labels
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.pairing import dataset_pairs
from bnnbench.results.published.values import Published, counterpart
from bnnbench.results.reader import Runs
from bnnbench.results.significance import ROPE, add_names, compare_pairs

METRICS = ("rmse", "log_likelihood")
"""Score columns of `published/splits.csv`."""

MIN_SPLITS = 2
"""Minimum number of common splits for a standard error."""


@cache
def published_splits() -> pd.DataFrame:
    """Return all published scores of single splits, in original units.

    Each has the fingerprint of its test rows, as in the `splits.csv` of a run.

    - Gal & Ghahramani (2016): the first version of their repository; the means are Table 1.
    - Matsubara (2024), WGBoost: github.com/takuomatsubara/WGBoost at 11bbc34, `result`. Power is
      excluded: UCI's workbook holds the same rows in five orders, one per sheet, and WGBoost reads
      Sheet1 whereas the public splits are of Sheet5, so the same row numbers are other rows. The
      order of rows was checked for kin8nm, naval and protein; for the other sets it was inferred
      from correlations with our runs.
    """
    with files(__package__).joinpath("splits.csv").open() as file:
        return pd.read_csv(file, dtype={"fingerprint": str})


def paired_with_published(runs: Runs) -> pd.DataFrame:
    """Compare our runs with published scores of the same splits.

    Splits are paired by their test rows, not by number.

    Returns:
        A row for each run with common splits, index `run`: `dataset`, `method`, `source`, `splits`
        (in common) and for each metric `<metric>_ours`, `<metric>_theirs`, `<metric>_difference`
        (ours - theirs), its standard error `<metric>_stderr`, and `<metric>_correlation`.
    """
    result = {
        name: row
        for name, run in runs.scored.to_dict("index").items()
        if (theirs := counterpart(run, METRICS[0]))
        and (row := _paired(run, runs.splits[runs.splits["run"] == name], theirs))
    }
    return pd.DataFrame.from_dict(result, orient="index").rename_axis("run")


def published_runs(runs: Runs) -> Runs:
    """Return the published scores of single splits as runs, on the splits that `runs` tested."""
    sizes = runs.splits.drop_duplicates("fingerprint").set_index("fingerprint")
    columns = ["training_rows", "test_rows", "training_fingerprint"]
    rows = published_splits().join(sizes[columns], on="fingerprint", how="inner")
    short = rows["method"].map(lambda name: name.split(" (")[0])
    names = short + ", " + rows["source"] + " " + rows["year"].astype(str)
    rows = rows.assign(run=names + " on " + rows["dataset"], label=names)
    tables = {KIND: rows.drop_duplicates("run").set_index("run")[["dataset", "label"]]}
    return Runs(runs.path, tables, rows, {})


def pairs_with_published(runs: Runs, rope: float = ROPE) -> pd.DataFrame:
    """Compare every run with every method whose single splits were published.

    Unlike `paired_with_published`, the published method may be another one.

    Returns:
        Pairs as of `significance.compare_pairs`; the names `a` are our labels, and `b` is the
        source. Empty without common splits.
    """
    published, metrics = published_runs(runs), [BY_KEY[name] for name in METRICS]
    pairs = compare_pairs(dataset_pairs(runs, published, metrics=metrics), rope, metrics)
    names = pd.concat([labels(runs.scored), published.scored["label"]])
    return add_names(pairs, names)


def _paired(run: Mapping[Any, Any], splits: pd.DataFrame, theirs: Published) -> dict[str, Any]:
    """Return the row of a run; empty with too few common splits."""
    published = published_splits()
    same_method = (published["dataset"] == run["dataset"]) & (published["method"] == theirs.method)
    valid = splits[splits["diverged"] == 0]
    both = valid.merge(published[same_method], on="fingerprint", suffixes=("", "_theirs"))
    if len(both) < MIN_SPLITS:
        return {}
    row = {"dataset": run["dataset"], "method": run["method"], "source": theirs.source}
    row["splits"] = len(both)
    for metric in METRICS:
        ours, published_scores = both[metric], both[f"{metric}_theirs"]
        difference = ours - published_scores
        row |= {
            f"{metric}_ours": ours.mean(),
            f"{metric}_theirs": published_scores.mean(),
            f"{metric}_difference": difference.mean(),
            f"{metric}_stderr": difference.sem(),
            f"{metric}_correlation": ours.corr(published_scores),
        }
    return row
