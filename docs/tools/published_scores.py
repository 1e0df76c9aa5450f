"""Published scores with the same settings as stored runs: how many agree, and which do not.

The runs are those of `docs/results` and the reference results of the package. `explanations.csv` in
`docs/results` lists the causes that were tried for scores that differ, each with a stored run.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np
import pandas as pd
from run_to_run import with_run_to_run
from stored_results import folders, reference_results, table

from bnnbench.results.compare.published_scores import with_published
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.reference.results import reference_runs
from bnnbench.suites.li_renyi.page import compare_with_published

MAX_Z = 2
"""Published values within this many standard errors count as reproduced."""

VALUES = ("ours", "stderr", "published", "published_stderr", "z")
NUMBER = ("source", "dataset", "metric", "order")
"""The columns that identify a published score."""

REFERENCE = "reference"
"""The folder of the reference results, which ship with the package."""


@cache
def comparisons() -> pd.DataFrame:
    """Return every published score that some stored run has the settings of, once.

    Scores published without an error, and runs whose settings differ in more than the number of
    weight samples, of test samples or the objective of the search, have no `z` and are left out. Of
    several runs, the one whose settings differ least counts; then those of `docs/results` before
    the reference results; then the one with the lowest seed.

    Returns:
        Columns `source`, `method`, `dataset`, `metric`, `order` of Rényi's bound or an empty text,
        `ours`, `stderr`, `published`, `published_stderr`, `z` (the difference in combined standard
        errors, or of a paired difference in its own), `folder`, `publication`, `verdict` (`agrees`,
        `better` or `worse`), and the columns of `with_run_to_run`.
    """
    stored = {name: _by_metric(table(name)) for name in folders()}
    means = [runs.assign(folder=name) for name, runs in {**stored, REFERENCE: shipped()}.items()]
    rows = pd.concat([*means, _renyi_orders()], ignore_index=True)
    rows = rows.assign(is_reference=rows["folder"] == REFERENCE)
    order = ["differences", "is_reference", "seed"]
    rows = rows[rows["z"].notna()].sort_values(order, kind="stable")
    rows = rows.drop_duplicates(list(NUMBER)).sort_values(list(NUMBER), ignore_index=True)
    better = rows["metric"].map(lambda key: BY_KEY[key].sign) * rows["z"] < 0
    verdict = np.where(better, "better", "worse")
    verdict = np.where(rows["z"].abs() <= MAX_Z, "agrees", verdict)
    publication = rows["source"].str.split(": ").str[0]
    columns = [*NUMBER, "method", "folder", *VALUES, "is_paired"]
    rows = rows[columns].assign(publication=publication, verdict=verdict)
    return with_run_to_run(rows)


def _by_metric(runs: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each run and metric with a published value.

    Where single splits are published, z is the paired difference in its standard errors.
    """
    rows = []
    for metric in (name.removesuffix("_z") for name in runs if name.endswith("_z")):
        names = ("mean", "source", "differs", "paired", "paired_stderr", *VALUES)
        columns = {f"{metric}_{name}": name for name in names}
        own = runs[["seed", "method", "dataset", *runs.columns.intersection(list(columns))]]
        own = own.rename(columns=columns).rename(columns={"mean": "ours"})
        if "paired" in own:
            z = own["paired"] / own["paired_stderr"]
            own["is_paired"] = own["z"].notna() & z.notna()
            own["z"] = own["z"].where(~own["is_paired"], z)
        differs = own.pop("differs").astype("string").replace("", pd.NA)
        differences = differs.str.count(", ").add(1).where(differs.notna(), 0)
        rows.append(own.assign(metric=metric, order="", differences=differences))
    return pd.concat(rows) if rows else pd.DataFrame()


def _renyi_orders() -> pd.DataFrame:
    """Return the scores of Rényi's bound, whose order is part of the method."""
    shipped = compare_with_published(reference_runs(reference_results()))
    stored = table("vr_uci", "renyi_orders")
    orders = pd.concat([stored.assign(folder="vr_uci"), shipped.assign(folder=REFERENCE)])
    orders = orders.rename(columns={"ours_stderr": "stderr"})
    orders["order"] = [f"order {order:g}" for order in orders["alpha"]]
    # Of the two readings of the number of hidden units, that of the paper counts.
    differences = (orders["method"] != "renyi_vi_2016").astype(int)
    return orders.assign(source="Li & Turner 2016", differences=differences, seed=0)


def shipped() -> pd.DataFrame:
    """Return the means of the reference results."""
    return _by_metric(with_published(reference_runs(reference_results())))


def compared() -> int:
    """Return how many published scores are compared."""
    return len(comparisons())


def verdicts(verdict: str) -> int:
    """Return how many of them have a verdict: `agrees`, `better` or `worse`."""
    return int((comparisons()["verdict"] == verdict).sum())


def with_seeds() -> int:
    """Return for how many of them several seeds are stored."""
    return int(comparisons()["runs"].notna().sum())


def within_run_to_run() -> int:
    """Return how many of these do not differ significantly by the run-to-run error."""
    return int(comparisons()["is_close"].eq(True).sum())


def z_spread() -> float:
    """Return the standard deviation of z without paired differences.

    It is estimated from the median of the absolute value, so that exceptions hardly matter.
    """
    rows = comparisons()
    unpaired = rows.loc[rows["is_paired"].ne(True), "z"]
    return unpaired.abs().median() / NormalDist().inv_cdf(0.75)
