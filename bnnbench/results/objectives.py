"""Training objective by epoch, for runs that saved it (GVI thesis, Fig. 5.3)."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import read_objective


def medians_by_epoch(table: pd.DataFrame, column: str) -> pd.Series:
    """Return the median over splits, by epoch.

    Args:
        table: as returned by `read_objective`.
        column: `objective`, `loss` or `complexity`.
    """
    return table.groupby("epoch")[column].median()


def median_objectives(runs: Runs) -> pd.DataFrame:
    """Return the median objective by epoch of every run that saved it.

    Returns:
        Columns `run`, `dataset`, `depth`, `label` (without the depth), `epoch` and
        `objective`, in the order of `Runs.scored`.
    """
    medians = {}
    for run in runs.scored.index:
        table = read_objective(runs.folders[str(run)])
        if table is not None:
            medians[run] = medians_by_epoch(table, "objective")
    if not medians:
        return pd.DataFrame()
    scored = runs.scored.loc[list(medians)]
    names = scored.assign(label=labels(scored, ignore=("depth",)))[["dataset", "depth", "label"]]
    curves = pd.concat(medians, names=["run"]).reset_index()
    return curves.join(names, on="run")
