"""Published test results on the UCI data sets, and how ours compare with them.

`published/uci.csv` and `published/modern.csv` list each number with its paper and where it was read
(`seen_in`). Numbers of the first file are means over the public splits; for the second, the column
`splits` says what is known. All are in original units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.published.protocol import (
    PLAIN_DIVERGENCES,
    WITHOUT_NETWORK,
    has_protocol,
    noise_differences,
)
from bnnbench.results.published.settings import (
    BBVI,
    DEEP_ENSEMBLE,
    DROPOUT,
    HMC,
    NGBOOST,
    PBP,
    SLANG,
    TAGI,
    TAGI_V,
    TAGI_V_GAINS,
    VADAM,
    VPROP,
    Difference,
    difference,
)

COUNTERPARTS = {
    "vadam": (VADAM,),
    "vprop": (VPROP,),
    # Only the SLANG paper prints a (joint) log-likelihood for it.
    "bbb": (BBVI, SLANG),
    "mc_dropout": (DROPOUT,),
    "pbp": (PBP,),
    "deep_ensemble": (DEEP_ENSEMBLE,),
    "hmc": (HMC,),
    "tagi": (TAGI, TAGI_V, TAGI_V_GAINS),
    "ngboost": (NGBOOST,),
}
"""Published names of our method families or presets, best match first; networks have one hidden
layer."""

MODERN_METHODS = (HMC, NGBOOST, TAGI, TAGI_V, TAGI_V_GAINS)
"""Counterparts that are listed in `published/modern.csv`."""

UNKNOWN_SETTINGS = "unknown"
"""Printed settings of a user's published value."""

UNPUBLISHED_METHODS = ("mc_dropout_x10",)
"""Methods of these families with unpublished settings (here 40 final epochs)."""


@dataclass(frozen=True)
class Published:
    """One published mean over splits.

    Attributes:
        mean: in original units.
        stderr: its standard error, NaN if unknown.
        splits: number of splits.
        method: the paper's name of the method.
        paper: authors and year.
    """

    mean: float
    stderr: float
    splits: int
    method: str
    paper: str

    @property
    def std(self) -> float:
        """The standard deviation over splits."""
        return self.stderr * math.sqrt(self.splits)

    @property
    def source(self) -> str:
        """The paper and its name of the method."""
        return f"{self.paper}: {self.method}"


@cache
def _table(name: str) -> pd.DataFrame:
    with files(__package__).joinpath(f"{name}.csv").open() as file:
        return pd.read_csv(file)


@cache
def published_uci() -> pd.DataFrame:
    """Return the published values of our methods and their competitors.

    Returns:
        `published/uci.csv` with the column `stderr`, the standard error: for standard deviations
        (`error_kind` std) the error divided by the square root of `n_splits`; missing if the paper
        gives none or one that rounds to zero.
    """
    return with_stderr(_table("uci"))


@cache
def published_modern() -> pd.DataFrame:
    """Return published values of later methods on these data sets, with `stderr`."""
    return with_stderr(_table("modern"))


def with_stderr(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the column `stderr`."""
    scale = np.where(rows["error_kind"] == "std", np.sqrt(rows["n_splits"]), 1.0)
    # A printed error of 0.00 was rounded, so it is unknown.
    known = rows["error_kind"].isin(("stderr", "std")) & (rows["error"] > 0)
    return rows.assign(stderr=(rows["error"] / scale).where(known))


@cache
def published_values() -> dict[tuple[str, str, str], Published]:
    """Return the published values by data set, metric and the paper's name of the method."""
    result: dict[tuple[str, str, str], Published] = {}
    modern = published_modern()
    modern = modern[modern["method"].isin(MODERN_METHODS) & (modern["splits"] != "own")]
    rows = pd.concat([published_uci(), modern])
    for row in rows.to_dict("records"):
        paper = f"{row['source']} {row['year']}"
        numbers = float(row["mean"]), float(row["stderr"]), int(row["n_splits"])
        value = Published(*numbers, str(row["method"]), paper)
        result.setdefault((row["dataset"], row["metric"], row["method"]), value)
    return result


@dataclass(frozen=True)
class UserPublished(Published):
    """A value from the user's file; of its settings, at most the number of splits is known."""


Values = Mapping[tuple[str, str, str], Published]
"""Published values by data set, metric and name of the method."""


def user_values(rows: pd.DataFrame) -> Values:
    """Return the user's published values, from the rows of `read_user_published`."""
    return {
        (row["dataset"], row["metric"], row["method"]): UserPublished(
            row["mean"],
            row["stderr"],
            row["n_splits"],
            row["method"],
            f"{row['source']} {row['year']}".strip() or "user",
        )
        for row in rows.to_dict("records")
    }


def counterpart(
    run: Mapping[Any, Any], metric: str, user_published: Values = MappingProxyType({})
) -> Published | None:
    """Return the published value to compare a run with, if there is one.

    A value from the user's file for the run's method takes precedence. Otherwise, the published
    networks have one hidden layer, a Gaussian likelihood and KL, so other runs match nothing. Of
    several values, the one whose settings are most like the run's is returned, then the best match
    of `COUNTERPARTS`. `settings.difference` tells whether the two are comparable. `run` has the
    metadata of its record, its `settings` and its number of `splits`.
    """
    if user_value := user_published.get((run["dataset"], metric, run["method"])):
        return user_value
    is_comparable = (
        has_protocol(run)
        and run["depth"] == (0 if run["family"] in WITHOUT_NETWORK else 1)
        and str(run["divergence"]).lower() in PLAIN_DIVERGENCES
        and not noise_differences(run)
        and run["method"] not in UNPUBLISHED_METHODS
    )
    known = COUNTERPARTS.get(run["family"]) or COUNTERPARTS.get(run["method"], ())
    names = known if is_comparable else ()
    candidates = [
        value for n in names if (value := published_values().get((run["dataset"], metric, n)))
    ]
    return min(candidates, key=lambda value: difference(run, value.method).n_major, default=None)


def z_score(ours: float, our_stderr: float, theirs: float, their_stderr: float) -> float:
    """Return `ours - theirs` in combined standard errors; NaN if either error is unknown."""
    combined = math.hypot(our_stderr, their_stderr)
    return (ours - theirs) / combined if combined > 0 else math.nan


def run_difference(run: Mapping[Any, Any], theirs: Published) -> Difference:
    """Return how a run differs from the settings of a published value, as far as known."""
    if not isinstance(theirs, UserPublished):
        return difference(run, theirs.method)
    fewer = run["splits"] < theirs.splits  # False if the number is missing
    description = f"{UNKNOWN_SETTINGS}, {run['splits']} of {theirs.splits:.0f} splits"
    return Difference(
        description if fewer else UNKNOWN_SETTINGS, comparable=not fewer, n_major=0, known=False
    )


def run_z_score(run: Mapping[Any, Any], metric: str, theirs: Published) -> float:
    """Return the z-score of a run against a published value; NaN if major settings differ."""
    if not run_difference(run, theirs).comparable:
        return math.nan
    return z_score(run[f"{metric}_mean"], run[f"{metric}_stderr"], theirs.mean, theirs.stderr)
