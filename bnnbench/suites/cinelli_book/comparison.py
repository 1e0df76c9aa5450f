"""The book's comparison (section 4.7): which runs it is made of.

`seconds.csv` is the book's Table 4.3. Means of times over data sets are geometric, so that no data
set outweighs another and the mean of a ratio is the ratio of the means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.metrics import printed_in
from bnnbench.results.published_protocol import has_protocol, other_noise, other_settings
from bnnbench.results.significance import named

EXPERIMENT = "book_uci"

CONFIGURATIONS = {
    "bbb_x1": "BBBx1",
    "bbb_x2": "BBBx2",
    "vadam": "Vadam",
    "pbp": "PBP",
    "mc_dropout_x1": "MCDOx1",
    "mc_dropout_x10": "MCDOx10",
}
"""Our label to the book's name, in the order of its Table 4.3."""

SCORES = {metric.key: metric.word for metric in printed_in("figures")}
"""What the book judges performance by, RMSE and log-likelihood, and the printed names."""

SPLITS = 20  # of each data set, in the book as here


@dataclass(frozen=True)
class BookRuns:
    """The finished runs of the book's comparison.

    Attributes:
        runs: rows of `Runs.scored`, one per data set and configuration; perhaps none.
        pairs: those between them in `SCORES`, named by keys of `CONFIGURATIONS`, of runs on all
            `SPLITS`: fewer say nothing of what the book says of scores.
        surplus: runs left out because another one of their data set and configuration was taken.
        departing: runs left out because their settings are not the protocol's.
    """

    runs: pd.DataFrame
    pairs: pd.DataFrame
    surplus: int = 0
    departing: int = 0

    def table(self, metric: str) -> pd.DataFrame:
        """Means of `metric`: a row per data set, a column per configuration, gaps missing."""
        wide = self.runs.pivot(index="dataset", columns="method", values=f"{metric}_mean")
        return wide.reindex(columns=list(CONFIGURATIONS))

    def printed(self) -> BookRuns:
        """What the book prints of these same runs: its total times; its scores are figures."""
        keys = zip(self.runs["dataset"], self.runs["method"], strict=True)
        own = self.runs[["dataset", "method"]].assign(
            total_seconds_mean=[book_seconds().loc[key] for key in keys], fit_seconds_mean=np.nan
        )
        return BookRuns(own, self.pairs.iloc[:0])


def book_runs(table: pd.DataFrame, pairs: pd.DataFrame) -> BookRuns | None:
    """The book's comparison among the runs of a report, or None if there is none.

    It is made of the runs of `experiment=book_uci` on the book's data sets and configurations whose
    settings are the protocol's. Of several runs of one data set and configuration (other seeds,
    say) it takes that of most splits, then the first.

    Args:
        table: rows of `Runs.scored`, perhaps with more columns.
        pairs: of `all_pairs` of the same runs.
    """
    own = table[
        (table["experiment"] == EXPERIMENT)
        & table["method"].isin(CONFIGURATIONS)
        & table["dataset"].isin(book_seconds().index)
    ]
    if own.empty:
        return None
    runs = own[[follows_protocol(run) for run in own.to_dict("records")]]
    most_first = runs.sort_values("splits", ascending=False, kind="stable")
    first = most_first.drop_duplicates(["dataset", "method"]).index
    taken = runs[runs.index.isin(first)]
    whole = taken[taken["splits"] >= SPLITS]
    met = named(pairs[pairs["metric"].isin(SCORES)], whole["method"])
    return BookRuns(taken, met, len(runs) - len(taken), len(own) - len(runs))


def follows_protocol(run: Mapping[Any, Any]) -> bool:
    """Whether a run has the settings of the book's comparison, on however many splits."""
    return has_protocol(run) and not (other_noise(run) or other_settings(run))


@cache
def book_seconds() -> pd.DataFrame:
    """The book's Table 4.3: seconds by data set (row) and configuration (column).

    The average wall-clock time of a whole training cycle, from search to final posterior.
    """
    table = pd.read_csv(str(files(__package__) / "seconds.csv"), index_col="dataset")
    return table[list(CONFIGURATIONS)].astype(float)


def geometric_mean(values: pd.Series | pd.DataFrame) -> Any:
    """Of a series, or of each column of a table; missing if there is nothing to average."""
    return np.exp(np.log(values).mean())
