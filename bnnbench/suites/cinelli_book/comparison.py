"""The runs of the book's comparison (section 4.7).

`seconds.csv` is the book's Table 4.3. Times are averaged over data sets by the geometric mean, so
that all data sets have equal weight and the mean of ratios is the ratio of means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.compare.outcomes import with_outcomes
from bnnbench.results.compare.significance import add_names
from bnnbench.results.metric_table import printed_in
from bnnbench.results.published.protocol import has_protocol, noise_differences, setting_differences
from bnnbench.results.read.configurations import distinct_names

EXPERIMENT = "book_uci"

CONFIGURATIONS = {
    "bbb_x1": "BBBx1",
    "bbb_x2": "BBBx2",
    "vadam": "Vadam",
    "pbp": "PBP",
    "mc_dropout_x1": "MCDOx1",
    "mc_dropout_x10": "MCDOx10",
}
"""The book's name by our label, in the order of its Table 4.3."""

SCORES = {metric.key: metric.inline_title for metric in printed_in("figures")}
"""Printed names of the book's scores, RMSE and log-likelihood."""

SPLITS = 20
"""Number of splits of each data set, in the book and here."""


@dataclass(frozen=True)
class BookRuns:
    """The finished runs of the book's comparison.

    Attributes:
        runs: rows of `Runs.scored`, one per data set and configuration; may be empty.
        pairs: comparisons of runs on all `SPLITS` by `SCORES`, named by keys of `CONFIGURATIONS`;
            their p-values are adjusted over these pairs only.
        n_duplicates: number of runs left out because another run has their name.
        n_deviating: number of runs left out because their settings deviate from the protocol.
    """

    runs: pd.DataFrame
    pairs: pd.DataFrame
    n_duplicates: int = 0
    n_deviating: int = 0

    def table(self, metric: str) -> pd.DataFrame:
        """Return means of `metric`, a row per data set and a column per configuration."""
        wide = self.runs.pivot(index="dataset", columns="method", values=f"{metric}_mean")
        return wide.reindex(columns=list(CONFIGURATIONS))

    def printed(self) -> BookRuns:
        """Return the book's own numbers for these runs: total times (it only plots scores)."""
        keys = zip(self.runs["dataset"], self.runs["method"], strict=True)
        printed_runs = self.runs[["dataset", "method"]].assign(
            total_seconds_mean=[book_seconds().loc[key] for key in keys], fit_seconds_mean=np.nan
        )
        return BookRuns(printed_runs, self.pairs.iloc[:0])


def book_runs(table: pd.DataFrame, pairs: pd.DataFrame) -> BookRuns | None:
    """Select the runs of the book's comparison; None if there are none.

    These are the runs of `experiment=book_uci` on the book's data sets and configurations that
    follow the protocol. Of several seeds of a run, the one with the most splits is used, then the
    lowest seed; runs with other settings of their method are left out (`distinct_names`). `pairs`
    are `all_pairs` of the same runs.
    """
    candidates = table[
        (table["experiment"] == EXPERIMENT)
        & table["method"].isin(CONFIGURATIONS)
        & table["dataset"].isin(book_seconds().index)
    ]
    if candidates.empty:
        return None
    runs = candidates[[follows_protocol(run) for run in candidates.to_dict("records")]]
    return one_per_configuration(runs, pairs, len(candidates) - len(runs))


def one_per_configuration(
    runs: pd.DataFrame, pairs: pd.DataFrame, n_deviating: int = 0
) -> BookRuns:
    """Select one run of each data set and configuration, as `book_runs`.

    Args:
        runs: rows of `Runs.scored` that follow the protocol.
        pairs: `all_pairs` of these and perhaps other runs.
        n_deviating: number of runs that do not.
    """
    names = distinct_names(runs["method"], runs, ["dataset"])
    unique = runs[runs.index.isin(names.index[names.isin(CONFIGURATIONS)])]
    complete = unique[unique["splits"] >= SPLITS]
    named_pairs = add_names(pairs[pairs["metric"].isin(SCORES)], complete["method"])
    # Other runs in the folder must not change the correction for multiple tests.
    named_pairs = with_outcomes(named_pairs)
    return BookRuns(unique, named_pairs, len(runs) - len(unique), n_deviating)


def follows_protocol(run: Mapping[Any, Any]) -> bool:
    """Return whether a run has the settings of the book's comparison, with any number of splits."""
    return has_protocol(run) and not (noise_differences(run) or setting_differences(run))


@cache
def book_seconds() -> pd.DataFrame:
    """Return the book's Table 4.3: seconds by data set (row) and configuration (column).

    These are average wall-clock times of a whole training cycle, from search to final posterior.
    """
    table = pd.read_csv(str(files(__package__) / "seconds.csv"), index_col="dataset")
    return table[list(CONFIGURATIONS)].astype(float)


def geometric_mean(values: pd.Series | pd.DataFrame) -> Any:
    """Return the geometric mean of a series or of each column; NaN if empty."""
    return np.exp(np.log(values).mean())
