"""Published test results on the UCI sets, and how ours compare with them.

`published_uci.csv` carries each number with the paper it stands in and where it was read
(`seen_in`). Results are means over the same public splits, in original units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.metrics import printed_in
from bnnbench.results.published_protocol import PLAIN_DIVERGENCES, has_protocol, other_noise

COUNTERPARTS = {
    "vadam": ("Vadam",),
    "vprop": ("Vprop",),
    # The SLANG paper is the only one that prints a (joint) log-likelihood for it.
    "bbb": ("BBVI", "BBB (SLANG paper baseline)"),
    "mc_dropout": ("MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)",),
    "pbp": ("PBP",),
}
"""Family of our method to its published names, best match first. All have one hidden layer."""

UNPUBLISHED = ("mc_dropout_x10",)
"""Methods of these families with settings that nobody published, here 40 final epochs."""

COLUMNS = ("published", "published_stderr", "z", "source")
"""What `with_published` adds of each metric."""


@dataclass(frozen=True)
class Published:
    """One published mean over splits.

    Attributes:
        mean: in original units.
        stderr: its standard error, NaN where none is known.
        method: the paper's name for it.
        paper: authors and year.
    """

    mean: float
    stderr: float
    method: str
    paper: str

    @property
    def source(self) -> str:
        """The paper, and its name for the method."""
        return f"{self.paper}: {self.method}"


NOTHING = Published(math.nan, math.nan, "", "")


@cache
def published() -> pd.DataFrame:
    """Every published value.

    Returns:
        `published_uci.csv` with one more column, `stderr`: the standard error, for standard
        deviations (`error_kind` std) the error divided by the square root of `n_splits`; missing
        where the paper gives none or one that rounds to zero.
    """
    with files("bnnbench.results").joinpath("published_uci.csv").open() as file:
        rows = pd.read_csv(file)
    scale = np.where(rows["error_kind"] == "std", np.sqrt(rows["n_splits"]), 1.0)
    # A printed 0.00 says that the error was rounded away, not that there was none.
    return rows.assign(stderr=(rows["error"] / scale).where(rows["error"] > 0))


@cache
def values() -> dict[tuple[str, str, str], Published]:
    """The published values by data set, metric and the paper's name of the method."""
    found: dict[tuple[str, str, str], Published] = {}
    for row in published().to_dict("records"):
        paper = f"{row['source']} {row['year']}"
        value = Published(float(row["mean"]), float(row["stderr"]), str(row["method"]), paper)
        found.setdefault((row["dataset"], row["metric"], row["method"]), value)
    return found


def counterpart(run: Mapping[Any, Any], metric: str) -> Published | None:
    """The published value that a run stands beside, if there is one.

    The published networks have one hidden layer, a Gaussian likelihood and KL, so that others
    match nothing; values of one metric are never returned for another. Whether the two may be
    compared is for the run's other settings to say, `published_protocol.departures`.

    Args:
        run: the names of its record, and its `settings`.
        metric: column of `published_uci.csv`'s `metric`.
    """
    like = (
        has_protocol(run)
        and run["depth"] == 1
        and str(run["divergence"]).lower() in PLAIN_DIVERGENCES
        and not other_noise(run)
        and run["method"] not in UNPUBLISHED
    )
    names = COUNTERPARTS.get(run["family"], ()) if like else ()
    found = (values().get((run["dataset"], metric, name)) for name in names)
    return next((value for value in found if value), None)


def z_score(ours: float, our_stderr: float, theirs: float, their_stderr: float) -> float:
    """`(ours - theirs)` in combined standard errors; NaN where either error is unknown."""
    combined = math.hypot(our_stderr, their_stderr)
    return (ours - theirs) / combined if combined > 0 else math.nan


def z_of(run: Mapping[Any, Any], metric: str, theirs: Published) -> float:
    """How far a run is from a published value; NaN where its settings are not those behind it."""
    if run["settings_differ"]:
        return math.nan
    return z_score(run[f"{metric}_mean"], run[f"{metric}_stderr"], theirs.mean, theirs.stderr)


def with_published(table: pd.DataFrame) -> pd.DataFrame:
    """The runs and, for each metric that papers print, what was published.

    Args:
        table: rows of `Runs.scored`.

    Returns:
        The table with the new columns `<metric>_published`, `<metric>_published_stderr`,
        `<metric>_z` and `<metric>_source`; missing where nothing comparable was published, and
        `<metric>_z` of runs whose settings differ from the published protocol.
    """
    columns: dict[str, list[float | str]] = {}
    for run in table.to_dict("records"):
        for metric in (metric.key for metric in printed_in("published")):
            theirs = counterpart(run, metric)
            value = theirs or NOTHING
            z = z_of(run, metric, value)
            cells: tuple[float | str, ...] = (
                value.mean,
                value.stderr,
                z,
                theirs.source if theirs else "",
            )
            for name, cell in zip(COLUMNS, cells, strict=True):
                columns.setdefault(f"{metric}_{name}", []).append(cell)
    return table.assign(**columns)
