"""Published scores with the same settings as stored runs: how many agree, and which do not.

`explanations.csv` in `docs/results` says why scores differ. An empty cell of its first columns
matches any value.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
from stored_results import RESULTS, SCORES, table

from bnnbench.results.metrics import BY_KEY

MAX_Z = 2
"""Published values within this many standard errors count as reproduced."""

PAIRED = "paired_with_published"
"""The table of differences of single splits, if a folder has one."""

VALUES = ("ours", "stderr", "published", "published_stderr", "z")
NUMBER = ("source", "dataset", "metric", "order")
"""The columns that identify a published score."""

OPEN = "open"


@cache
def comparisons() -> pd.DataFrame:
    """Return every published score that some stored run has the settings of, once.

    Scores published without an error, and runs whose settings differ in more than the number of
    weight samples, of test samples or the objective of the search, have no `z` and are left out. Of
    several runs, the one whose settings differ least counts, then the one with the lowest seed.

    Returns:
        Columns `source`, `method`, `dataset`, `metric`, `order` of Rényi's bound or an empty text,
        `ours`, `stderr`, `published`, `published_stderr`, `z` (the difference in combined standard
        errors, or of a paired difference in its own), `publication` and `verdict` (`agrees`,
        `better` or `worse`).
    """
    folders = sorted(path.parent for path in RESULTS.rglob("results.csv"))
    means = [_means(str(folder.relative_to(RESULTS))) for folder in folders]
    rows = pd.concat([*means, _renyi_orders()], ignore_index=True)
    rows = rows[rows["z"].notna()].sort_values(["differences", "seed"], kind="stable")
    rows = rows.drop_duplicates(list(NUMBER)).sort_values(list(NUMBER), ignore_index=True)
    better = rows["metric"].map(lambda key: BY_KEY[key].sign) * rows["z"] < 0
    verdict = np.where(better, "better", "worse")
    verdict = np.where(rows["z"].abs() <= MAX_Z, "agrees", verdict)
    publication = rows["source"].str.split(": ").str[0]
    columns = [*NUMBER, "method", *VALUES]
    return rows[columns].assign(publication=publication, verdict=verdict)


def _means(folder: str) -> pd.DataFrame:
    """Return the means of a folder, or its paired differences if single splits are published."""
    runs = table(folder)
    if (RESULTS / folder / f"{PAIRED}.csv").exists():
        return _paired(folder)
    rows = []
    for metric in (name.removesuffix("_z") for name in runs if name.endswith("_z")):
        columns = {f"{metric}_{name}": name for name in ("mean", "source", "differs", *VALUES)}
        own = runs[["seed", "method", "dataset", *runs.columns.intersection(list(columns))]]
        own = own.rename(columns=columns).rename(columns={"mean": "ours"})
        differs = own.pop("differs").astype("string")
        differences = differs.str.count(", ").add(1).where(differs.notna(), 0)
        rows.append(own.assign(metric=metric, order="", differences=differences))
    return pd.concat(rows) if rows else pd.DataFrame()


def _paired(folder: str) -> pd.DataFrame:
    """Return the means of a folder with the standard errors of paired differences."""
    runs = table(folder, PAIRED)
    rows = []
    for metric in SCORES:
        own = runs.rename(columns=lambda name, metric=metric: name.removeprefix(f"{metric}_"))
        own = own.rename(columns={"theirs": "published"})
        own = own.assign(metric=metric, order="", differences=0, seed=0, published_stderr=math.nan)
        rows.append(own.assign(z=own["difference"] / own["stderr"]))
    return pd.concat(rows)[["differences", "seed", "method", *NUMBER, *VALUES]]


def _renyi_orders() -> pd.DataFrame:
    """Return the scores of Rényi's bound, whose order is part of the method."""
    orders = table("vr_uci", "renyi_orders").rename(columns={"ours_stderr": "stderr"})
    orders["order"] = [f"order {order:g}" for order in orders["alpha"]]
    names = {"source": "Li & Turner 2016", "method": "renyi_vi"}
    return orders.assign(**names, differences=0, seed=0)


def compared() -> int:
    """Return how many published scores are compared."""
    return len(comparisons())


def verdicts(verdict: str) -> int:
    """Return how many of them have a verdict: `agrees`, `better` or `worse`."""
    return int((comparisons()["verdict"] == verdict).sum())


def explanation(run: dict[str, object]) -> str:
    """Return why a score differs, or `open`."""
    known = table(".", "explanations").fillna("")
    for row in known.to_dict("records"):
        if all(row[name] in ("", run[name]) for name in ("method", "dataset", "metric")):
            return str(row["reason"])
    return OPEN
