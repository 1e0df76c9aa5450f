"""Why published scores differ from ours: the causes that were tried, each with a stored run.

`explanations.csv` in `docs/results` has a row for each cause:

- `method`, `dataset`, `metric`: the scores for which it was tried; empty for any
- `cause`: what was changed, or who ran it
- `table`, `where`: the stored run, as a table below `docs/results` and values of its columns
- `compare`: `published`, or `ours` if the run shows that the published score belongs to other data

Whether a cause explains a score is not written down: it does if that run lies within two standard
errors of the score with which it is compared, and the difference is at most half of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
from published_scores import MAX_Z
from stored_results import table

from bnnbench.report.blocks import format_z, plus_minus
from bnnbench.results.compare.published_scores import z_score

ROW = ("method", "dataset", "metric")
"""Columns that say for which scores a cause was tried."""


@dataclass(frozen=True)
class Tried:
    """A cause and what the run gives that has it.

    Attributes:
        text: the cause with the score of the run, in Markdown.
        explains: whether the score is within `MAX_Z` standard errors, and the difference is at
            most half of that between ours and the published score.
    """

    text: str
    explains: bool


def explanation(row: dict[str, Any]) -> str:
    """Return which causes explain a score that differs, or that it is open and what was ruled out.

    Args:
        row: of `published_scores.comparisons`.

    Raises:
        ValueError: if nothing was tried.
    """
    tried = [*_run_to_run(row), *(_tried(row, cause) for cause in causes(row))]
    if not tried:
        raise ValueError(f"explanations.csv has no cause for {[row[name] for name in ROW]}")
    found = [one.text for one in tried if one.explains]
    return "; ".join(found or [f"open; ruled out: {tried[0].text}", *(t.text for t in tried[1:])])


def causes(row: dict[str, Any]) -> list[dict[str, str]]:
    """Return the rows of `explanations.csv` for a score."""
    return [
        cause
        for cause in _explanations().to_dict("records")
        if all(cause[name] in ("", row[name]) for name in ROW)
    ]


@cache
def _explanations() -> pd.DataFrame:
    return table(".", "explanations").fillna("").astype(str)


def _run_to_run(row: dict[str, Any]) -> Iterator[Tried]:
    """Yield the chance of the seed, if several seeds are stored."""
    if pd.notna(row["run_to_run"]):
        errors = format_z(row["run_to_run"])
        mean = plus_minus(row["runs_mean"], row["runs_std"] / row["runs"] ** 0.5)
        text = (
            f"choice of the seed, mean of {row['runs']:.0f} seeds: {mean} "
            f"({errors} run-to-run errors)"
        )
        close = bool(row["is_close"]) and _remaining(row, row["runs_mean"], "published") <= 0.5
        yield Tried(text, close)


def _tried(row: dict[str, Any], cause: dict[str, str]) -> Tried:
    mean, stderr = _score(row, cause)
    prefix = "published" if cause["compare"] == "published" else "ours"
    error = row["published_stderr"] if prefix == "published" else row["stderr"]
    z = z_score(mean, stderr, row[prefix], error)
    against = "" if prefix == "published" else " from ours"
    link = f"[{cause['cause']}]({cause['table']}.csv)"
    text = f"{link}: {plus_minus(mean, stderr)} (z {format_z(z)}{against})"
    return Tried(text, abs(z) <= MAX_Z and _remaining(row, mean, prefix) <= 0.5)


def _remaining(row: dict[str, Any], mean: float, compared: str) -> float:
    """Return the difference of a mean from `ours` or `published`, as a fraction of ours."""
    return abs(mean - row[compared]) / abs(row["ours"] - row["published"])


def _score(row: dict[str, Any], cause: dict[str, str]) -> tuple[float, float]:
    """Return the mean and the standard error of the stored run.

    Raises:
        ValueError: if there is not exactly one.
    """
    runs = table(".", cause["table"])
    conditions = dict(part.split("=") for part in cause["where"].split())
    if "alpha" in runs:
        runs = runs.assign(order=[f"order {order:g}" for order in runs["alpha"]])
        conditions["order"] = row["order"]
    conditions |= {n: row[n] for n in ("dataset", "metric") if n in runs}
    for column, value in conditions.items():
        runs = runs[runs[column].astype(str) == value]
    metric = row["metric"]
    if metric in runs:  # single splits
        return runs[metric].mean(), runs[metric].sem()
    if len(runs) != 1:
        raise ValueError(f"{cause['table']} has {len(runs)} rows with {conditions}, not one")
    run = runs.iloc[0]
    names = ("ours", "ours_stderr") if "ours" in run else (f"{metric}_mean", f"{metric}_stderr")
    return run[names[0]], run[names[1]]
