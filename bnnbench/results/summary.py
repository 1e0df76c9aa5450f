"""Mean, spread and count of every number over the splits of a run."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.metrics import DIAGNOSTIC, METRICS

SPREADS = ("mean", "std", "stderr")


def over_splits(splits: pd.DataFrame) -> pd.DataFrame:
    """Every metric and diagnostic over the splits that did not diverge.

    Args:
        splits: rows of `splits.csv`, with the column `run`.

    Returns:
        Rows by `run` and `metric`: each metric, then each column `diag.*`; columns `mean`, `std`
        (divisor n - 1), `stderr` (std / sqrt(n)) and `n`, in the units of `splits`. The spread of
        a single split is missing, not zero.
    """
    columns = [metric.key for metric in METRICS]
    columns += [name for name in splits if str(name).startswith(DIAGNOSTIC)]
    runs = pd.Index(splits["run"].unique(), name="run")
    kept = splits[splits["diverged"] == 0].set_index("run")[columns].astype(float)
    groups = kept.groupby(level="run")
    n = groups.size().reindex(runs, fill_value=0)
    mean, std = (table.reindex(runs) for table in (groups.mean(), groups.std(ddof=1)))
    stderr = std.div(np.sqrt(n), axis=0)
    found = {
        name: table.rename_axis(columns="metric").stack(future_stack=True)
        for name, table in zip(SPREADS, (mean, std, stderr), strict=True)
    }
    table = pd.DataFrame(found)
    return table.assign(n=n.reindex(table.index.get_level_values("run")).to_numpy())


def summarise(splits: pd.DataFrame) -> pd.DataFrame:
    """`over_splits` of one run: a row per metric, with the column `metric`."""
    return over_splits(splits.assign(run="")).loc[""].reset_index()


def side_by_side(spreads: pd.DataFrame) -> pd.DataFrame:
    """A row per run, columns `<metric>_mean`, `<metric>_std` and `<metric>_stderr`.

    Args:
        spreads: of `over_splits`.
    """
    wide = spreads[list(SPREADS)].unstack("metric")
    metrics = spreads.index.unique("metric")
    ordered = [(spread, metric) for metric in metrics for spread in SPREADS]
    wide = wide[ordered]
    wide.columns = pd.Index([f"{metric}_{spread}" for spread, metric in ordered])
    return wide
