"""Information criteria of runs that scored the rows they were trained on (GVI thesis, 5.0.2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.results.reader import Runs

CRITERIA = {"neg_log_likelihood": "NLL", "bic": "BIC", "aic": "AIC", "hqc": "HQC"}
"""Column to printed name; lower is better in all."""

NEEDED = {"train_log_likelihood", "training_rows", "parameters"}
"""Columns of splits, the first only where `evaluation.training_part` asked for it."""


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
    splits that did not diverge.
    """
    if not set(runs.splits) >= NEEDED:
        return pd.DataFrame()
    # A table of many runs has the column for all of them, empty for those that kept no such score.
    asked = runs.splits.groupby("run")["train_log_likelihood"].transform("count") > 0
    splits = runs.splits[asked]
    groups = splits.groupby("run", sort=False)
    kept = splits[splits["diverged"] == 0]
    means = criteria(kept).groupby(kept["run"]).mean()
    sizes = groups.agg(parameters=("parameters", "first"), rows=("training_rows", "mean"))
    return sizes.astype({"parameters": int}).join(means)
