"""Information criteria of runs that scored the rows they were trained on (GVI thesis, 5.0.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.reader import Runs

CRITERIA = {"neg_log_likelihood": "NLL", "bic": "BIC", "aic": "AIC", "hqc": "HQC"}
"""Column to printed name; lower is better in all."""


def criteria(splits: pd.DataFrame) -> pd.DataFrame:
    """The columns of `CRITERIA` of each split (thesis, section 5.0.2).

    The thesis prints HQC with `2 L` for `2 ln L`.

    Args:
        splits: `training_rows` (n, at least 2), `parameters` (p) and `train_log_likelihood`, the
            mean over the training rows, nats.
    """
    n, p = splits["training_rows"], splits["parameters"]
    fit = -splits["train_log_likelihood"] * n
    return pd.DataFrame({
        "neg_log_likelihood": fit,
        "bic": p * np.log(n) + 2 * fit,
        "aic": 2 * p + 2 * fit,
        "hqc": 2 * p * np.log(np.log(n)) + 2 * fit,
    })  # fmt: skip


def criteria_table(runs: Runs) -> pd.DataFrame:
    """A row per run that scored its training part, index `run`; no row where none did.

    Columns: `parameters`, `rows` (of a split, on average) and those of `CRITERIA`, means over the
    splits that did not diverge; missing where all of them did.
    """
    scored = runs.scored
    if scored.empty or not scored["training_part"].any():
        return pd.DataFrame()
    splits = runs.splits[runs.splits["run"].isin(scored.index[scored["training_part"]])]
    groups = splits.groupby("run", sort=False)
    kept = splits[splits["diverged"] == 0]
    means = criteria(kept).groupby(kept["run"]).mean()
    sizes = groups.agg(parameters=("parameters", "first"), rows=("training_rows", "mean"))
    return sizes.astype({"parameters": int}).join(means)
