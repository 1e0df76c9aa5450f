"""The book's comparison (section 4.7): which runs it is made of, and their running times.

`book_seconds.csv` is the book's Table 4.3. Means of times over data sets are geometric, so that no
data set outweighs another and the mean of a ratio is the ratio of the means.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.plotting import PALETTE, Style, legend, sketch
from bnnbench.results.published import LIKE_PUBLISHED
from bnnbench.results.tables import labels

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

SCORES = {"rmse": "RMSE", "log_likelihood": "log-likelihood"}
"""What the book judges performance by, and the printed names."""

SPLITS = 20  # of each data set, in the book as here
TIMED_APART = 1e-9  # a smaller relative spread of seconds over splits is rounding


@dataclass(frozen=True)
class BookRuns:
    """The finished runs of the book's comparison.

    Attributes:
        runs: rows of `gather`, one per data set and configuration.
        pairs: rows of `all_pairs` between them in `SCORES`; `a` and `b` are keys of
            `CONFIGURATIONS`.
        surplus: runs left out because another one of their data set and configuration was taken.
    """

    runs: pd.DataFrame
    pairs: pd.DataFrame
    surplus: int = 0

    def table(self, metric: str) -> pd.DataFrame:
        """Means of `metric`: a row per data set, a column per configuration, gaps missing."""
        wide = self.runs.pivot(index="dataset", columns="method", values=f"{metric}_mean")
        return wide.reindex(columns=list(CONFIGURATIONS))


def suite_of(results: pd.DataFrame, pairs: pd.DataFrame) -> BookRuns | None:
    """The book's comparison among the gathered runs, or None if there is none.

    It is made of the runs of `experiment=book_uci` on the book's data sets and configurations, with
    its one hidden layer, its likelihood and its KL divergence. Of several runs of one data set and
    configuration (other seeds, say) it takes that of most splits, then the first.

    Args:
        results: what `gather` returns, perhaps with more columns.
        pairs: what `all_pairs` returns for the same runs.
    """
    runs = results.assign(label=labels(results))
    runs = runs[
        (runs["experiment"] == EXPERIMENT)
        & runs["method"].isin(CONFIGURATIONS)
        & runs["dataset"].isin(book_seconds().index)
        & runs["divergence"].str.lower().isin(LIKE_PUBLISHED)
        & (runs["depth"] == 1)
        & (runs["likelihood"] == "gaussian")
        & (runs["loss"] == "nll")
    ]
    most_first = runs.sort_values("splits", ascending=False, kind="stable")
    taken = most_first.drop_duplicates(["dataset", "method"]).sort_index()
    if taken.empty:
        return None
    # No pair at all has no columns either.
    pairs = pairs if len(pairs) else pd.DataFrame(columns=["dataset", "metric", "a", "b"])
    method = taken.set_index(["dataset", "label"])["method"].to_dict()
    for side in ("a", "b"):
        keys = zip(pairs["dataset"], pairs[side], strict=True)
        pairs = pairs.assign(**{side: [method.get(key) for key in keys]})
    pairs = pairs[pairs["metric"].isin(SCORES)].dropna(subset=["a", "b"])
    return BookRuns(taken, pairs, len(runs) - len(taken))


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


def running_times(suite: BookRuns) -> pd.DataFrame:
    """Seconds per split of search, final fit and prediction, ours beside the book's Table 4.3.

    Returns:
        One row per run: `dataset`, `method`, `splits`, `seconds` and their `stderr` over splits
        (missing where the splits share one measured time), `book_seconds`, `speedup` (book /
        ours), `relative_to_pbp` (missing where PBP did not run) and `book_relative_to_pbp`.
    """
    runs, book = suite.runs, book_seconds()
    seconds, dataset = runs["total_seconds_mean"], runs["dataset"]
    stderr = runs["total_seconds_stderr"]
    theirs = [book.loc[key] for key in zip(dataset, runs["method"], strict=True)]
    columns = {
        "seconds": seconds,
        "stderr": stderr.where(stderr > TIMED_APART * seconds),
        "book_seconds": theirs,
        "speedup": theirs / seconds,
        "relative_to_pbp": seconds / dataset.map(suite.table("total_seconds")["pbp"]),
        "book_relative_to_pbp": theirs / dataset.map(book["pbp"]),
    }
    return runs[["dataset", "method", "splits"]].assign(**columns)


def relative_time_figure(suite: BookRuns) -> Figure | None:
    """The book's Fig. 4.15: time relative to PBP's on a log scale; None where PBP did not run.

    A group of bars per data set, one bar per configuration, from PBP's own time (1) up or down;
    the book's ratios as diamonds.
    """
    times = running_times(suite).dropna(subset=["relative_to_pbp"])
    times = times[times["method"] != "pbp"]
    if times.empty:
        return None
    datasets = list(dict.fromkeys(times["dataset"]))
    names = [name for name in CONFIGURATIONS if name in set(times["method"])]
    width = 0.8 / len(names)
    figure, (axes,) = sketch(max(6, 1.6 + 0.24 * len(names) * len(datasets)), 4.2)
    diamond: Style = {"color": "black", "markerfacecolor": "white", "markersize": 5, "zorder": 3}
    for i, name in enumerate(names):
        own = times[times["method"] == name]
        places = own["dataset"].map(datasets.index) + (i - (len(names) - 1) / 2) * width
        colour = PALETTE[list(CONFIGURATIONS).index(name)]
        height = own["relative_to_pbp"] - 1
        axes.bar(places, height, width, bottom=1, color=colour, label=CONFIGURATIONS[name])
        label = "" if i else "the book's"
        axes.plot(places, own["book_relative_to_pbp"], "D", label=label, **diamond)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set(yscale="log", ylabel="training time relative to PBP's")
    axes.set_xticks(range(len(datasets)), datasets)
    legend(figure, axes, columns=3)
    return figure
