"""The saved tables of a run."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.suites.inference_toys.gradient_variance.names import (
    BIAS,
    CONVERGENCE,
    LATENTS,
    VARIANCES,
)
from bnnbench.suites.inference_toys.saved_tables import read_table


@dataclass(frozen=True)
class GradientVarianceRun:
    """The tables of a run, each under its own name."""

    variances: pd.DataFrame
    bias: pd.DataFrame
    latents: pd.DataFrame
    convergence: pd.DataFrame

    def by_estimator(self, column: str = "exact") -> pd.DataFrame:
        """Return a column of the variances by setup and parameter (rows) and estimator."""
        return self.variances.pivot_table(
            column, ["objective", "setting", "parameter"], "estimator", sort=False
        )


def read_run(folder: RunFolder) -> GradientVarianceRun:
    """Read the tables of a finished run.

    Raises:
        UserError: if a table is damaged.
    """
    moments = ("mean", "mean_error", "gradient", "variance", "variance_error", "exact")
    return GradientVarianceRun(
        read_table(folder, VARIANCES, ("scale", "samples", *moments)),
        read_table(folder, BIAS, ("mean", "error", "gradient")),
        read_table(folder, LATENTS, ("latents", "variance", "variance_error", "exact")),
        read_table(folder, CONVERGENCE, ("step", "samples", "low", "median", "high")),
    )
