"""Means, deviations and standard errors of scores over the splits of each run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.experiment.store.split_files import DIAGNOSTIC
from bnnbench.results.metric_table import BY_KEY

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
