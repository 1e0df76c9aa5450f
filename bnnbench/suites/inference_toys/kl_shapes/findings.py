"""The tables of a run, read once for its figures and rules."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.suites.inference_toys.kl_shapes.mixture import Mixture
from bnnbench.suites.inference_toys.kl_shapes.tables import FACTORISED, FITS, STEPS
from bnnbench.suites.inference_toys.reading import read_table

COLUMNS = (
    "separation",
    "share",
    "scale_of_part",
    "order",
    "rank",
    "loc",
    "scale",
    "divergence",
    "swapped",
    "at_edge",
    "stray",
    "least_part",
)
"""Of `fits.csv`, beside the mixture's name."""


@dataclass(frozen=True)
class Findings:
    """What a run left.

    Attributes:
        answers: of `read_answers`.
        fits: every local optimum, those of rank 0 are the best of their order.
        factorised: the variance of each factor by direction of the divergence.
        steps: of coordinate ascent.
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
        """The best fit of every mixture, for one order."""
        return self.best[self.best["order"] == order]

    @property
    def farthest(self) -> float:
        """The greatest separation."""
        return float(self.fits["separation"].max())


def read_findings(folder: RunFolder) -> Findings:
    """The tables of a run.

    Raises:
        UserError: if one is damaged.
    """
    return Findings(
        read_answers(folder),
        read_table(folder, FITS, COLUMNS),
        read_table(folder, FACTORISED, ("correlation", "variance")),
        read_table(folder, STEPS, ("step", "loc_1", "loc_2", "reverse_kl")),
    )


def mixture_of(row: pd.Series) -> Mixture:
    """What a row of `fits.csv` was fitted to."""
    return Mixture(*(float(row[name]) for name in ("separation", "share", "scale_of_part")))
