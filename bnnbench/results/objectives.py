"""What training minimised, epoch by epoch, of the runs that kept it (GVI thesis, Fig. 5.3)."""

from __future__ import annotations

import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.reader import Runs
from bnnbench.results.run_files import read_objective


def medians_by_epoch(table: pd.DataFrame, column: str) -> pd.Series:
    """The median over splits, by epoch.

    Args:
        table: of `read_objective`.
        column: `objective`, `loss` or `complexity`.
    """
    return table.groupby("epoch")[column].median()


def median_objectives(runs: Runs) -> pd.DataFrame:
    """The median objective of every run that kept one, by epoch.

    Returns:
        Rows of `run`, `dataset`, `depth`, `label` (which leaves out the depth), `epoch` and
        `objective`, in the order of `Runs.scored`.
    """
    found = {}
    for run in runs.scored.index:
        table = read_objective(runs.folders[str(run)])
        if table is not None:
            found[run] = medians_by_epoch(table, "objective")
    if not found:
        return pd.DataFrame()
    own = runs.scored.loc[list(found)]
    names = own.assign(label=labels(own, aside=("depth",)))[["dataset", "depth", "label"]]
    curves = pd.concat(found, names=["run"]).reset_index()
    return curves.join(names, on="run")
