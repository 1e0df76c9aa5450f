"""Published test results on the UCI sets, and how ours compare with them.

`published_uci.csv` and `published_modern.csv` carry each number with the paper it stands in and
where it was read (`seen_in`). Those of the first are means over the public splits; what is known
of the second's is their column `splits`. All are in original units.
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

from bnnbench.results.published_protocol import PLAIN_DIVERGENCES, has_protocol, other_noise
from bnnbench.results.published_settings import (
    BBVI,
    DROPOUT,
    HMC,
    PBP,
    SLANG,
    VADAM,
    VPROP,
    Difference,
    difference,
)

COUNTERPARTS = {
    "vadam": (VADAM,),
    "vprop": (VPROP,),
    # The SLANG paper is the only one that prints a (joint) log-likelihood for it.
    "bbb": (BBVI, SLANG),
    "mc_dropout": (DROPOUT,),
    "pbp": (PBP,),
    "hmc": (HMC,),
}
"""Family of our method to its published names, best match first. All have one hidden layer."""

OF_MODERN = (HMC,)
"""Those of them that stand in `published_modern.csv`."""

NOT_ON_RECORD = "not on record"
"""What is said of the settings behind a value that a reader brought."""

UNPUBLISHED = ("mc_dropout_x10",)
"""Methods of these families with settings that nobody published, here 40 final epochs."""


@dataclass(frozen=True)
class Published:
    """One published mean over splits.

    Attributes:
        mean: in original units.
        stderr: its standard error, NaN where none is known.
        splits: how many it is over.
        method: the paper's name for it.
        paper: authors and year.
    """

    mean: float
    stderr: float
    splits: int
    method: str
    paper: str

    @property
    def std(self) -> float:
        """The standard deviation over splits that the standard error stands for."""
        return self.stderr * math.sqrt(self.splits)

    @property
    def source(self) -> str:
        """The paper, and its name for the method."""
        return f"{self.paper}: {self.method}"


@cache
def _table(name: str) -> pd.DataFrame:
    with files("bnnbench.results").joinpath(f"{name}.csv").open() as file:
        return pd.read_csv(file)


@cache
def published() -> pd.DataFrame:
    """Every published value of a method that we have, and of those it was held against.

    Returns:
        `published_uci.csv` with one more column, `stderr`: the standard error, for standard
        deviations (`error_kind` std) the error divided by the square root of `n_splits`; missing
        where the paper gives none or one that rounds to zero.
    """
    return with_stderr(_table("published_uci"))


@cache
def published_modern() -> pd.DataFrame:
    """Further published values on these sets, of methods that came later, likewise."""
    return with_stderr(_table("published_modern"))


def with_stderr(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the column `stderr`."""
    scale = np.where(rows["error_kind"] == "std", np.sqrt(rows["n_splits"]), 1.0)
    # A printed 0.00 says that the error was rounded away, not that there was none.
    known = rows["error_kind"].isin(("stderr", "std")) & (rows["error"] > 0)
    return rows.assign(stderr=(rows["error"] / scale).where(known))


@cache
def values() -> dict[tuple[str, str, str], Published]:
    """The published values by data set, metric and the paper's name of the method."""
    found: dict[tuple[str, str, str], Published] = {}
    modern = published_modern()
    rows = pd.concat([published(), modern[modern["method"].isin(OF_MODERN)]])
    for row in rows.to_dict("records"):
        paper = f"{row['source']} {row['year']}"
        numbers = float(row["mean"]), float(row["stderr"]), int(row["n_splits"])
        value = Published(*numbers, str(row["method"]), paper)
        found.setdefault((row["dataset"], row["metric"], row["method"]), value)
    return found


@dataclass(frozen=True)
class Brought(Published):
    """One that a reader brought; of its settings only the number of splits may be known."""


Values = Mapping[tuple[str, str, str], Published]
"""By data set, metric and name of the method."""


def brought(rows: pd.DataFrame) -> Values:
    """The values that a reader brought.

    Args:
        rows: of `read_beside`, or none.
    """
    return {
        (row["dataset"], row["metric"], row["method"]): Brought(
            row["mean"],
            row["stderr"],
            row["n_splits"],
            row["method"],
            f"{row['source']} {row['year']}".strip() or "brought",
        )
        for row in rows.to_dict("records")
    }


def counterpart(
    run: Mapping[Any, Any], metric: str, own: Values = MappingProxyType({})
) -> Published | None:
    """The published value that a run stands beside, if there is one.

    The published networks have one hidden layer, a Gaussian likelihood and KL, so that others
    match nothing; values of one metric are never returned for another. Of several that whose
    settings are most like the run's, else the best match. Whether the two may be compared is
    for those to say, `published_settings.difference`. What a reader brought under the name of the
    run's method comes before all of them.

    Args:
        run: the names of its record, its `settings` and how many `splits` it has.
        metric: column of `published_uci.csv`'s `metric`.
        own: what a reader brought, of `brought`.
    """
    if found := own.get((run["dataset"], metric, run["method"])):
        return found
    like = (
        has_protocol(run)
        and run["depth"] == 1
        and str(run["divergence"]).lower() in PLAIN_DIVERGENCES
        and not other_noise(run)
        and run["method"] not in UNPUBLISHED
    )
    names = COUNTERPARTS.get(run["family"], ()) if like else ()
    there = [value for n in names if (value := values().get((run["dataset"], metric, n)))]
    return min(there, key=lambda value: difference(run, value.method).grave, default=None)


def z_score(ours: float, our_stderr: float, theirs: float, their_stderr: float) -> float:
    """`(ours - theirs)` in combined standard errors; NaN where either error is unknown."""
    combined = math.hypot(our_stderr, their_stderr)
    return (ours - theirs) / combined if combined > 0 else math.nan


def difference_of(run: Mapping[Any, Any], theirs: Published) -> Difference:
    """In what a run differs from those behind a published value, as far as it is known."""
    if not isinstance(theirs, Brought):
        return difference(run, theirs.method)
    fewer = run["splits"] < theirs.splits  # missing where nobody said it
    words = f"{NOT_ON_RECORD}, {run['splits']} of {theirs.splits:.0f} splits"
    return Difference(words if fewer else NOT_ON_RECORD, slight=not fewer, grave=0, known=False)


def z_of(run: Mapping[Any, Any], metric: str, theirs: Published) -> float:
    """How far a run is from a published value; NaN where more than slight settings differ."""
    if not difference_of(run, theirs).slight:
        return math.nan
    return z_score(run[f"{metric}_mean"], run[f"{metric}_stderr"], theirs.mean, theirs.stderr)
