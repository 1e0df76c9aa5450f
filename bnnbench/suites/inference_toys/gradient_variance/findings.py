"""The tables of a run, read once for its figures and rules."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.suites.inference_toys.gradient_variance.tables import (
    BIAS,
    CONVERGENCE,
    LATENTS,
    VARIANCES,
)
from bnnbench.suites.inference_toys.reading import read_table


@dataclass(frozen=True)
class Findings:
    """What a run left, a table of the same name each."""

    variances: pd.DataFrame
    bias: pd.DataFrame
    latents: pd.DataFrame
    convergence: pd.DataFrame

    def by_estimator(self, column: str = "exact") -> pd.DataFrame:
        """One column of the variances, a row per place and parameter, a column per estimator."""
        return self.variances.pivot_table(
            column, ["objective", "setting", "parameter"], "estimator", sort=False
        )


def read_findings(folder: RunFolder) -> Findings:
    """The tables of a run.

    Raises:
        UserError: if one is damaged.
    """
    moments = ("mean", "mean_error", "gradient", "variance", "variance_error", "exact")
    return Findings(
        read_table(folder, VARIANCES, ("scale", "samples", *moments)),
        read_table(folder, BIAS, ("mean", "error", "gradient")),
        read_table(folder, LATENTS, ("latents", "variance", "variance_error", "exact")),
        read_table(folder, CONVERGENCE, ("step", "samples", "low", "median", "high")),
    )
