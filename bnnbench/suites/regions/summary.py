"""Scores of finished runs by region, summarised over splits, and published values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.stored_files import read_table
from bnnbench.results.claims.saved_run import read_tables
from bnnbench.results.published.values import with_stderr
from bnnbench.results.read.run_files import read_splits
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.run_notes import R_HAT
from bnnbench.suites.regions import KIND, REGIONS

PARTS = ("region", "inside")

SCORES = {
    "rmse": "RMSE",
    "log_likelihood": "Log-likelihood",
    "log_likelihood_gaussian": "Log-likelihood, Gaussian",
    "crps": "CRPS",
    "coverage": "Coverage of 90 % intervals",
    "width": "Mean width of 90 % intervals",
    "epistemic_deviation": "Mean epistemic standard deviation",
}
"""Titles of the scores of each part."""

AREAS = {
    "auroc.epistemic": "AUROC, epistemic variance",
    "auroc.total": "AUROC, total variance",
    "auroc.distance": "AUROC, distance to training rows",
}
"""Titles of the areas under ROC curves."""

COLUMNS = (*(f"{part}.{score}" for score in SCORES for part in PARTS), *AREAS)
"""Columns with scores."""

NOUNS: Mapping[str, str] = {"gap": "gap", "gap10": "gap", "tail": "tails"}
"""What a region is called, by its setting."""

PBP_SOURCE = "nnuncert 2023"
"""Source of the published scores of single splits of PBP."""


def read_regions(folder: RunFolder) -> pd.DataFrame:
    """Read `regions.csv`, one row per split.

    Raises:
        UserError: if the file is missing or damaged.
    """
    return read_table(folder.table(REGIONS), ("split", "is_true", *COLUMNS), ("feature",))


def summarise_regions(table: pd.DataFrame) -> pd.DataFrame:
    """Return `mean`, `stderr` and `median` of each score over all splits, and over true ones.

    Args:
        table: `regions.csv` of a run. Scores of splits that diverged are missing.

    Returns:
        Index `COLUMNS`; the statistics over true gaps or tails have the prefix `true_`.
    """
    scores = table[list(COLUMNS)]
    every, true = (
        part.agg(["mean", "sem", "median"]).T.rename(columns={"sem": "stderr"})
        for part in (scores, scores[table["is_true"] == 1])
    )
    return every.join(true.add_prefix("true_"))


def all_regions(runs: Runs) -> pd.DataFrame:
    """Return the rows of `regions.csv` of every run, with columns that describe the run.

    Returns:
        The columns of the tables, with `diag.r_hat` of chains, `run`, `experiment`, `source` (the
        data set), `kind` (of region), `method`, `family` and `label`. Empty without runs.
    """
    metadata = ("experiment", "source", "region", "method", "family")
    return read_tables(runs, KIND, _with_r_hat, metadata).rename(columns={"region": "kind"})


def _with_r_hat(folder: RunFolder) -> pd.DataFrame:
    """Read `regions.csv`, with the R-hat of every split if the method has chains."""
    splits = read_splits(folder)
    return read_regions(folder).merge(splits[["split", *{R_HAT} & {*splits}]], on="split")


@cache
def published_regions() -> pd.DataFrame:
    """Return published means over the splits of a data set, one row per method.

    - Antorán, Allingham & Hernández-Lobato (2020), gaps: settings tuned for every split, 100 units.
      Their log-likelihood is that of one Gaussian with the moments of the mixture.
    - nnuncert, gaps and tails: 50 units, 40 epochs, of MC dropout 400.
    - Rønning et al. (2025), gaps of a tenth: two layers of 50 units, a Gamma prior of the noise
      precision; printed with one decimal, read off a picture.

    Returns:
        Columns `source`, `region`, `dataset`, `method`, `family` (of our method, if there is one)
        and, for `rmse` and `log_likelihood`, `<metric>` and its standard error `<metric>_stderr`,
        missing where the number of splits is unknown, and `<metric>_std` over splits.
    """
    table = pd.read_csv(str(files(__package__) / "published.csv")).fillna({"family": ""})
    table = with_stderr(table)
    std = table["stderr"] * np.sqrt(table["n_splits"])
    table["std"] = table["error"].where(table["error_kind"] == "std", std)
    keys = ["source", "region", "dataset", "method", "family"]
    wide = table.pivot(index=keys, columns="metric", values=["mean", "stderr", "std"])
    wide.columns = pd.Index(
        [metric if name == "mean" else f"{metric}_{name}" for name, metric in wide.columns]
    )
    return wide.reset_index()


def paired_with_pbp(table: pd.DataFrame) -> pd.DataFrame:
    """Compare our runs of PBP with published scores of single splits.

    nnuncert stores them for kin8nm and power; the tails of power are left out, because its features
    are in another order there. Its gaps differ from ours by one or two rows.

    Args:
        table: from `all_regions`.

    Returns:
        Rows by `label`, `source`, `kind` and `metric`: `splits`, the means `ours` and `theirs`,
        `difference` (ours - theirs) with its standard error `difference_stderr`, `correlation`.
    """
    theirs = pd.read_csv(str(files(__package__) / "pbp_splits.csv"))
    theirs = theirs.rename(columns={"region": "kind", "dataset": "source"})
    both = table[table["family"] == "pbp"].merge(theirs, on=["kind", "source", "split"])
    rows = []
    for (label, source, kind), own in both.groupby(["label", "source", "kind"], sort=False):
        for metric in ("rmse", "log_likelihood"):
            ours, published = own[f"region.{metric}"], own[metric]
            difference = ours - published
            rows.append({
                "label": label, "source": source, "kind": kind, "metric": SCORES[metric],
                "splits": len(own), "ours": ours.mean(), "theirs": published.mean(),
                "difference": difference.mean(), "difference_stderr": difference.sem(),
                "correlation": ours.corr(published),
            })  # fmt: skip
    return pd.DataFrame(rows)
