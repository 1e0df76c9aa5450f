"""The book's comparison, on made-up numbers for which everything that it says is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bnnbench.results.settings import flatten
from bnnbench.suites.cinelli_book.comparison import CONFIGURATIONS, BookRuns, book_runs
from support.pairs import duels
from support.runs import identity_by, names_of

TOTAL = dict(zip(CONFIGURATIONS, (60, 108, 69.6, 1, 37.4, 34), strict=True))
"""Seconds of which everything that the book says about its times is true."""

FIT = dict(zip(CONFIGURATIONS, (5, 9, 6, 10, 8, 3), strict=True))

STRENGTH = dict(zip(CONFIGURATIONS, (1, 3, 2, 4, 6, 5), strict=True))
"""Which configuration beats which, in both scores."""


def frame(totals: Mapping[str, Mapping[str, float]], **changes: Any) -> pd.DataFrame:
    """Rows like those of `Runs.scored` from seconds by data set and configuration.

    The digest of a run is here its data set and configuration, `boston pbp`, and its variant.
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
    followed = [flatten(identity_by(names_of(**run))) for run in table.to_dict("records")]
    table = table.assign(settings=followed)
    keys = (table["dataset"] + " " + table["method"] + " " + table["variant"]).str.strip()
    return table.set_index(keys.rename("run"))


def comparison(
    total: Mapping[str, float] | None = None,
    strength: Mapping[str, float] | None = None,
    fit: Mapping[str, float] | None = None,
    sure: float = 0.99,
) -> BookRuns:
    """One data set on which every claim holds, but for the changes."""
    runs = frame({"boston": {**TOTAL, **(total or {})}})
    runs["fit_seconds_mean"] = runs["method"].map({**FIT, **(fit or {})})
    leads = {f"boston {name}": value for name, value in {**STRENGTH, **(strength or {})}.items()}
    found = book_runs(runs, duels(leads, sure=sure))
    assert found is not None
    return found
