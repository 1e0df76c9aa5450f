"""Means and errors of scores over the splits of each run, and which of them may be ranked.

A mean may be ranked if it is over all splits that the other runs have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.split_files import DIAGNOSTIC, SPLIT_KEY
from bnnbench.results.metric_table import BY_KEY, Metric
from bnnbench.results.published.protocol import tuned_on_test

STATISTICS = ("mean", "std", "stderr")


def summarise_runs(splits: pd.DataFrame) -> pd.DataFrame:
    """Summarise every metric and diagnostic over the splits that did not diverge.

    Returns:
        Rows by `run` and `metric`: each metric, then each column `diag.*`; columns `mean`, `std`
        (divisor n - 1), `stderr` (std / sqrt(n)) and `n`, in the units of `splits`. `std` and
        `stderr` of a single split are missing, not zero.
    """
    columns = [key for key in BY_KEY if key in splits]
    columns += [name for name in splits if str(name).startswith(DIAGNOSTIC)]
    runs = pd.Index(splits["run"].unique(), name="run")
    valid = splits[splits["diverged"] == 0].set_index("run")[columns].astype(float)
    groups = valid.groupby(level="run")
    n = groups.size().reindex(runs, fill_value=0)
    mean, std = (table.reindex(runs) for table in (groups.mean(), groups.std(ddof=1)))
    stderr = std.div(np.sqrt(n), axis=0)
    statistics = {
        name: table.rename_axis(columns="metric").stack(future_stack=True)
        for name, table in zip(STATISTICS, (mean, std, stderr), strict=True)
    }
    table = pd.DataFrame(statistics)
    return table.assign(n=n.reindex(table.index.get_level_values("run")).to_numpy())


def summarise(splits: pd.DataFrame) -> pd.DataFrame:
    """Return `summarise_runs` of a single run, with `metric` as a column."""
    return summarise_runs(splits.assign(run="")).loc[""].reset_index()


def to_wide(summary: pd.DataFrame) -> pd.DataFrame:
    """Reshape `summarise_runs` to a row per run: `<metric>_mean`, `..._std` and `..._stderr`."""
    wide = summary[list(STATISTICS)].unstack("metric")
    metrics = summary.index.unique("metric")
    ordered = [(statistic, metric) for metric in metrics for statistic in STATISTICS]
    wide = wide[ordered]
    wide.columns = pd.Index([f"{metric}_{statistic}" for statistic, metric in ordered])
    return wide


CODE_VERSIONS = "n_code_versions"
"""Column with the number of code versions that computed a run; missing for reference runs."""


def code_counts(table: pd.DataFrame) -> pd.Series:
    """Return the number of code versions that computed each run; 1 where it is unknown."""
    return table.get(CODE_VERSIONS, pd.Series(1, table.index)).fillna(1)


def mixed_code(run: Mapping[str, Any]) -> list[str]:
    """Return `by 2 versions of the code` if several computed a run, as a list of one string."""
    count = run.get(CODE_VERSIONS, 1)
    return [f"by {count:g} versions of the code"] if count > 1 else []


TUNED = "tuned with test rows"
"""Why a run is not ranked whose settings were chosen with the help of test rows."""


def never_ranked(run: Mapping[Any, Any]) -> list[str]:
    """Return why a run is not ranked, whatever its splits."""
    return [*mixed_code(run), *([TUNED] if tuned_on_test(run) else [])]


def tuned_note(table: pd.DataFrame) -> str:
    """Return a sentence that names the methods tuned with test rows; empty if there are none."""
    tuned = tuned_runs(table)
    names = table.loc[table.index.isin(tuned), "method"].astype(str).unique() if tuned else ()
    return f"{TUNED.capitalize()}, not ranked: {', '.join(names)}." if tuned else ""


def tuned_runs(table: pd.DataFrame) -> set[str]:
    """Return the digests of the runs that were tuned with test rows."""
    names = ["method", "dataset", "tuned_on_test"]
    rows = table[table.columns.intersection(names)].to_dict("index")
    return {str(run) for run, row in rows.items() if tuned_on_test(row)}


def with_incomplete(
    table: pd.DataFrame, splits: pd.DataFrame, by: Sequence[str] = ("dataset",)
) -> pd.DataFrame:
    """Add `incomplete`: why the mean of a run is not ranked among those on its data set, or empty.

    A run is incomplete if it lacks a split of the largest set of splits that it shares some with.
    Nor is it ranked if it is `never_ranked`.

    Args:
        table: a row per run, index its digest.
        splits: rows of `splits.csv` of these runs, with `run`.
        by: columns of the table in which the runs that are ranked together agree.

    Returns:
        The table with strings such as `3 of 20 splits`.
    """
    keys = pd.Series([*splits[SPLIT_KEY].itertuples(index=False, name=None)], splits.index)
    tested = keys.groupby(splits["run"]).agg(frozenset).reindex(table.index)
    counts = splits.groupby("run").size()
    described = table.assign(**{CODE_VERSIONS: code_counts(table)}).to_dict("index")
    barred = {run: never_ranked(row) for run, row in described.items()}
    found: dict[object, str] = {}
    for _, own in tested.groupby([table[name] for name in by]):
        leaders: list[object] = []
        for run in sorted(own.index, key=lambda run: (len(barred[run]), -counts[run])):
            others = (leader for leader in leaders if own[leader] & own[run])
            leader = next(others, None)
            if leader is None:
                leaders += [run] if not barred[run] else []
            elif counts[run] < counts[leader]:
                found[run] = f"{counts[run]} of {counts[leader]} splits"
            elif own[leader] != own[run]:
                found[run] = "other splits"
    reasons = ([found[run]] if run in found else [] for run in table.index)
    joined = (
        ", ".join([*own, *barred[run]]) for own, run in zip(reasons, table.index, strict=True)
    )
    return table.assign(incomplete=list(joined))


def comparable_losses(table: pd.DataFrame, metric: Metric) -> pd.Series:
    """Return the losses by which runs are ranked on their data sets; lower is better.

    A run with diverged splits ranks behind all others, by the number of these splits,
    then by its loss.

    Args:
        table: rows of `Runs.scored`.
        metric: the metric.

    Returns:
        The losses by run; missing for incomplete runs.
    """
    losses = metric.sign * table[f"{metric.key}_mean"]
    worst = losses.groupby(table["dataset"]).transform("max").fillna(0)
    order = losses.groupby(table["dataset"]).rank(pct=True, na_option="bottom") / 2
    losses = losses.where(table["diverged"] == 0, worst + table["diverged"] + order)
    return losses.where(table["incomplete"] == "")


def ranked_pairs(pairs: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of complete runs; `table` has `incomplete` by run."""
    incomplete = table.index[table["incomplete"] != ""]
    return pairs[~(pairs["run_a"].isin(incomplete) | pairs["run_b"].isin(incomplete))]
