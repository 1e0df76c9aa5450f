"""What the thesis prints of its sprinkler: `published.csv`, six tables of means and deviations.

Table 5.1 has 1.3688 (0.0415) for class probability estimation with the joint contrast where Table
8.2, which says that the result is reused, has 1.3648 (0.0242). Both stand as printed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from bnnbench.suites.lam_density_ratio.comparison.statistics import Sample
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVED

REPETITIONS = 30
"""Of every configuration of the thesis."""

FLOOR = 1.3239
"""The average KL of exact posterior draws, nats: no configuration can be better but by chance.

It is 1.3198, the mean over observations of minus the log evidence without the prior's constant, and
what the kernel density is off with 1000 draws.
"""

LEAST_NELBO = 3.85078
"""Of the prior contrast, nats: the mean over observations of minus the log evidence."""


def floor_of(data: Sequence[float]) -> float:
    """`FLOOR` for the thesis's observations; not known for others."""
    return FLOOR if tuple(data) == OBSERVED else math.nan


def least_nelbo(contrast: str, data: Sequence[float], observations: str) -> float:
    """The NELBO of the exact posterior, nats; not known for other data.

    With the joint contrast it is the divergence of the observations' law from the model's: none if
    they are drawn from it, infinite for atoms.
    """
    if contrast == "joint":
        return 0.0 if observations == "model" else math.inf
    return LEAST_NELBO if tuple(data) == OBSERVED else math.nan


def exact_scores(names: Mapping[str, Any]) -> dict[str, float]:
    """What exact posterior draws score in a run, where that is known, by measure.

    Args:
        names: of its record.
    """
    floor, parts = floor_of(names["data"]), ("contrast", "data", "observations")
    nelbo = least_nelbo(*(names[part] for part in parts))
    return {"average_kl": floor, "average_kl_last5": floor, "kl": 0.0, "nelbo": nelbo}


TABLES = {
    "5.1": "ReLU ratio by reverse KL, and class probability by GAN",
    "6.1": "ReLU against exp output, reverse KL",
    "8.1": "estimators trained to the optimum, prior contrast",
    "8.2": "estimators trained to the optimum, joint contrast",
    "9.1": "undertrained estimators, prior contrast",
    "9.2": "undertrained estimators, joint contrast",
}


@dataclass(frozen=True, order=True)
class Cell:
    """One configuration of the thesis.

    Attributes:
        setting: `optimal` or `undertrained`.
        contrast: `prior` or `joint`.
        divergence: `reverse_kl` or `gan`.
        estimator: `D`, `r`, `T` or `relu`.
    """

    setting: str
    contrast: str
    divergence: str
    estimator: str

    @property
    def name(self) -> str:
        """As tables and claims call it: `prior, reverse KL, T`."""
        return f"{self.contrast}, {DIVERGENCES[self.divergence]}, {self.estimator}"


DIVERGENCES = {"gan": "GAN", "reverse_kl": "reverse KL"}

ESTIMATORS = ("D", "r", "T")
"""Those of chapters 8 and 9, in the order of their tables."""

CONTRASTS = {"prior": "prior contrast", "joint": "joint contrast"}


@cache
def printed() -> Mapping[str, Mapping[Cell, Sample]]:
    """The six tables by number, their rows in the order of print."""
    rows = pd.read_csv(str(files(__package__) / "published.csv"), dtype={"table": str})
    found: dict[str, dict[Cell, Sample]] = {name: {} for name in TABLES}
    for row in rows.to_dict("records"):
        estimator = "relu" if row["output"] == "relu" else row["estimator"]
        cell = Cell(row["setting"], row["context"], row["divergence"], estimator)
        found[row["table"]][cell] = Sample(row["mean"], row["std"], REPETITIONS)
    # Table 6.1 repeats those of 5.1 for the ReLU.
    relus = {cell: own for cell, own in found["5.1"].items() if cell.estimator == "relu"}
    both = {**relus, **found["6.1"]}
    found["6.1"] = {cell: both[cell] for cell in sorted(both, key=lambda c: c.contrast == "joint")}
    return found


def everything() -> Mapping[Cell, Sample]:
    """Every configuration once: of two prints that of the later table."""
    return {cell: own for table in printed().values() for cell, own in table.items()}
