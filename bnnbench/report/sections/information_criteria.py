"""Information criteria of runs that scored their training rows (GVI thesis, section 5.0.2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from bnnbench.report import blocks
from bnnbench.results.read.labels import labels, marked_labels
from bnnbench.results.read.run_tables import Runs

CRITERIA = {"neg_log_likelihood": "NLL", "bic": "BIC", "aic": "AIC", "hqc": "HQC"}
"""Printed name by column; lower is better."""

COLUMNS = blocks.columns(
    {"Method": "{marked_label}"},
    {
        "Depth": "{depth}",
        "p": "{parameters}",
        "n": "{rows:g}",
        **{title: f"{{{name}:.0f}}" for name, title in CRITERIA.items()},
    },
)

CRITERIA_STATEMENT = (
    "NLL: negative log predictive density, averaged over weight samples and summed over the n "
    "training points, in original units. The likelihood is thus the predictive likelihood of the "
    "training data, not its maximum. p is the number of fitted parameters: means and standard "
    "deviations for a Gaussian over the weights, the weights of all members for an ensemble. "
    "BIC = p ln n + 2 NLL, AIC = 2 p + 2 NLL, HQC = 2 p ln ln n + 2 NLL; means over splits. The "
    "complexity term dominates all three, so compare models by the NLL."
)

NAMED = ("experiment", "dataset", "method", "divergence", "depth", "splits")


def criteria(splits: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of `CRITERIA` for each split (GVI thesis, section 5.0.2).

    The thesis prints HQC with `2 L` in place of `2 ln L`.

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
    """Return a row per run that scored its training rows, index `run`.

    Columns: `parameters`, `rows` (training rows per split, on average) and those of `CRITERIA`,
    means over the splits that did not diverge; missing if all of them diverged.
    """
    scored = runs.scored
    if not scored["score_training_rows"].any():
        return pd.DataFrame()
    splits = runs.splits[runs.splits["run"].isin(scored.index[scored["score_training_rows"]])]
    groups = splits.groupby("run", sort=False)
    valid = splits[splits["diverged"] == 0]
    means = criteria(valid).groupby(valid["run"]).mean()
    sizes = groups.agg(parameters=("parameters", "first"), rows=("training_rows", "mean"))
    return sizes.astype({"parameters": int}).join(means)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """BIC, AIC, HQC and NLL of the runs that scored their training rows."""
    scores = runs.cached(criteria_table)
    if scores.empty:
        return
    own = runs.scored.loc[scores.index]
    names = own[list(NAMED)].assign(label=labels(own, ignore=("depth",)))
    table = names.join(scores).sort_values(["dataset", "depth", "label"])
    marked = marked_labels(own, ignore=("depth",))
    yield from blocks.tables_by_dataset(
        "Information criteria", CRITERIA_STATEMENT, COLUMNS, table.assign(marked_label=marked)
    )
    yield blocks.DataFile("criteria", table)
