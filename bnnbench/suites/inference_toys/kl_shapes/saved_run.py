"""The saved tables of a run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.suites.inference_toys.kl_shapes.mixture import Mixture
from bnnbench.suites.inference_toys.kl_shapes.names import COORDINATE_ASCENT, FACTORISED, FITS
from bnnbench.suites.inference_toys.saved_tables import read_table

COLUMNS = (
    "separation",
    "weight",
    "component_scale",
    "order",
    "rank",
    "loc",
    "scale",
    "divergence",
    "swapped_divergence",
    "at_bound",
    "mass_outside",
    "min_component_mass",
)
"""Numeric columns of `fits.csv`."""


@dataclass(frozen=True)
class KLShapesRun:
    """The saved tables of a run.

    Attributes:
        answers: as returned by `read_answers`.
        fits: all local optima; those of rank 0 are the best of their order.
        factorised: the variance of each factor by direction of the divergence.
        steps: the steps of coordinate ascent.
    """

    answers: pd.DataFrame
    fits: pd.DataFrame
    factorised: pd.DataFrame
    steps: pd.DataFrame

    @property
    def best(self) -> pd.DataFrame:
        """The best fit of every mixture and order."""
        return self.fits[self.fits["rank"] == 0]

    def best_at(self, order: float) -> pd.DataFrame:
        """Return the best fit of every mixture for one order."""
        return self.best[self.best["order"] == order]

    @property
    def max_separation(self) -> float:
        """The largest separation."""
        return float(self.fits["separation"].max())


def read_run(folder: RunFolder) -> KLShapesRun:
    """Read the tables of a finished run.

    Raises:
        UserError: if a table is damaged.
    """
    return KLShapesRun(
        read_answers(folder),
        read_table(folder, FITS, COLUMNS),
        read_table(folder, FACTORISED, ("correlation", "variance")),
        read_table(folder, COORDINATE_ASCENT, ("step", "loc_1", "loc_2", "reverse_kl")),
    )


def mixture_of(row: pd.Series) -> Mixture:
    """Return the mixture that a row of `fits.csv` was fitted to."""
    return Mixture(*(float(row[name]) for name in ("separation", "weight", "component_scale")))
