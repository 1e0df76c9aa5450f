"""The book's comparison on synthetic scores and times for which all its claims hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bnnbench.results.settings import flatten
from bnnbench.suites.cinelli_book.comparison import CONFIGURATIONS, BookRuns, book_runs
from support.pairs import pairwise_results
from support.runs import identity_for, metadata_of

TOTAL = dict(zip(CONFIGURATIONS, (60, 108, 69.6, 1, 37.4, 34), strict=True))
"""Total seconds by configuration."""

FIT = dict(zip(CONFIGURATIONS, (5, 9, 6, 10, 8, 3), strict=True))
"""Seconds of the final fit by configuration."""

STRENGTH = dict(zip(CONFIGURATIONS, (1, 3, 2, 4, 6, 5), strict=True))
"""Strength of each configuration in both scores; the higher one wins a comparison."""


def book_table(totals: Mapping[str, Mapping[str, float]], **changes: Any) -> pd.DataFrame:
    """Return a table like `Runs.scored` from seconds by data set and configuration.

    Runs are indexed by data set, configuration and variant, such as `boston pbp seed1`.
    """
    row = {"experiment": "book_uci", "divergence": "kl", "likelihood": "gaussian", "loss": "nll"}
    row |= {"depth": 1, "variant": "", "splits": 20}
    rows = [
        {
            "dataset": dataset,
            "method": method,
            "family": method.partition("_x")[0],
            "total_seconds_mean": seconds,
            "total_seconds_stderr": 0.1,
            "fit_seconds_mean": FIT[method],
        }
        for dataset, times in totals.items()
        for method, seconds in times.items()
    ]
    table = pd.DataFrame(rows).assign(**(row | changes))
    settings = [flatten(identity_for(metadata_of(**run))) for run in table.to_dict("records")]
    table = table.assign(settings=settings)
    keys = (table["dataset"] + " " + table["method"] + " " + table["variant"]).str.strip()
    return table.set_index(keys.rename("run"))


def comparison(
    total: Mapping[str, float] | None = None,
    strength: Mapping[str, float] | None = None,
    fit: Mapping[str, float] | None = None,
    noise: float = 0.1,
) -> BookRuns:
    """Return runs on one data set; with the default arguments, every claim holds."""
    runs = book_table({"boston": {**TOTAL, **(total or {})}})
    runs["fit_seconds_mean"] = runs["method"].map({**FIT, **(fit or {})})
    by_run = {f"boston {name}": value for name, value in {**STRENGTH, **(strength or {})}.items()}
    return selected(runs, by_run, noise)


def selected(
    runs: pd.DataFrame, strength: Mapping[str, float] | None = None, noise: float = 0.1
) -> BookRuns:
    """Return the runs of the book's comparison, compared by their strength, if there are any."""
    book = book_runs(runs, pairwise_results(strength or {}, noise=noise))
    assert book is not None
    return book
