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

COUNTERPARTS = {
    "vadam": ("Vadam",),
    "vprop": ("Vprop",),
    # The SLANG paper is the only one that prints a (joint) log-likelihood for it.
    "bbb": ("BBVI", "BBB (SLANG paper baseline)"),
    "mc_dropout": ("MC-Dropout original (1x50, 400 epochs, BO tau shared across splits)",),
    "mc_dropout_x10": (),  # 40 final epochs: nobody published that
    "pbp": ("PBP",),
}
"""Our method to its published names, best match first. All have one hidden layer."""

LIKE_PUBLISHED = ("", "none", "kl")
"""The divergences behind those results: KL, or none to choose."""

MODEL_PUBLISHED = ("gaussian", "nll")
"""The likelihood and the loss behind those results."""

COMPARED = ("rmse", "log_likelihood", "log_likelihood_joint")
"""The metrics that papers print; the two log-likelihoods are different quantities."""


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


@cache
def _everything() -> pd.DataFrame:
    with files("bnnbench.results").joinpath("published_uci.csv").open() as file:
        rows = pd.read_csv(file)
    scale = np.where(rows["error_kind"] == "std", np.sqrt(rows["n_splits"]), 1.0)
    # A printed 0.00 says that the error was rounded away, not that there was none.
    rows["stderr"] = (rows["error"] / scale).where(rows["error"] > 0)
    return rows


def published(dataset: str, metric: str) -> pd.DataFrame:
    """Every published value of one metric on one data set.

    Args:
        dataset: our name of the data set, e.g. `boston`.
        metric: `rmse`, `log_likelihood` or `log_likelihood_joint`; values of one kind are never
            returned for another.

    Returns:
        Rows of `published_uci.csv` with one more column, `stderr`: the standard error, for
        standard deviations (`error_kind` std) the error divided by the square root of
        `n_splits`; missing where the paper gives none or one that rounds to zero.
    """
    rows = _everything()
    wanted = (rows["dataset"] == dataset) & (rows["metric"] == metric)
    return rows[wanted].reset_index(drop=True)


def method_of(label: str) -> str | None:
    """The method with published results behind a label: `bbb` for `bbb_x2`, its longest prefix."""
    known = [name for name in COUNTERPARTS if label == name or label.startswith(f"{name}_")]
    return max(known, key=len, default=None)


def counterpart(
    label: str, dataset: str, metric: str, depth: int = 1, divergence: str = ""
) -> Published | None:
    """The published value that a run may be held against, if there is one.

    Args:
        label: the run's method label.
        dataset: its data set.
        metric: as for `published`.
        depth: hidden layers; the published networks have one, deeper ones match nothing.
        divergence: the run's; one that no published run used matches nothing.
    """
    method = method_of(label)
    if method is None or depth != 1 or divergence.lower() not in LIKE_PUBLISHED:
        return None
    rows = published(dataset, metric)
    for name in COUNTERPARTS[method]:
        for row in rows[rows["method"] == name].to_dict("records"):
            paper = f"{row['source']} {row['year']}"
            return Published(float(row["mean"]), float(row["stderr"]), name, paper)
    return None


def counterpart_of(run: Mapping[Any, Any], metric: str) -> Published | None:
    """`counterpart` of a run given as a row of its `splits.csv` or of the gathered results."""
    if (run["likelihood"], run["loss"]) != MODEL_PUBLISHED:
        return None
    return counterpart(run["method"], run["dataset"], metric, run["depth"], run["divergence"])


def z_score(ours: float, our_stderr: float, theirs: float, their_stderr: float) -> float:
    """`(ours - theirs)` in combined standard errors; NaN where either error is unknown."""
    combined = math.hypot(our_stderr, their_stderr)
    return (ours - theirs) / combined if combined > 0 else math.nan


def with_published(results: pd.DataFrame) -> pd.DataFrame:
    """The gathered results and, for each metric in `COMPARED`, what was published.

    New columns: `<metric>_published`, `<metric>_published_stderr`, `<metric>_z` and
    `<metric>_source`; missing where nothing comparable was published.
    """
    columns: dict[str, list[float | str]] = {}
    for run in results.to_dict("records"):
        for metric in COMPARED:
            theirs = counterpart_of(run, metric)
            value, error = (theirs.mean, theirs.stderr) if theirs else (math.nan, math.nan)
            z = z_score(run[f"{metric}_mean"], run[f"{metric}_stderr"], value, error)
            cells = {"published": value, "published_stderr": error, "z": z}
            for key, cell in (cells | {"source": theirs.source if theirs else ""}).items():
                columns.setdefault(f"{metric}_{key}", []).append(cell)
    return results.assign(**columns)
