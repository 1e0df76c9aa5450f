"""The saved tables of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers, value_of
from bnnbench.suites.inference_toys.noise_precision import names
from bnnbench.suites.inference_toys.saved_tables import read_table


@dataclass(frozen=True)
class NoisePrecisionRun:
    """The saved tables of a run; `setting` is empty for an algorithm with only one.

    Attributes:
        answers: as returned by `read_answers`.
        densities: rows of `densities.csv`.
        steps: rows of `steps.csv`.
        orders: rows of `orders.csv`.
        repeated: rows of `repeated.csv`.
        powers: rows of `powers.csv`; empty if the target has no weight.
        observations: number of observations.
    """

    answers: pd.DataFrame
    densities: pd.DataFrame
    steps: pd.DataFrame
    orders: pd.DataFrame
    repeated: pd.DataFrame
    powers: pd.DataFrame
    observations: int

    @property
    def joint(self) -> bool:
        """Whether the target is the posterior, and not (3.48)."""
        return names.CAVI in set(self.answers["approximation"])

    def exact(self, quantity: str) -> float:
        """Return the exact value for the target; NaN if unknown."""
        rows = self.answers[self.answers["quantity"] == quantity]
        is_exact = rows["approximation"] == names.EXACT  # only if the target is not the posterior
        known = [*rows.loc[is_exact, "value"], *rows.loc[~is_exact, "exact"].dropna()]
        return float(known[0]) if known else np.nan

    def skipped_all_updates(self, approximation: str, setting: str) -> bool:
        """Return whether ADF or EP skipped every update and is still at the prior."""
        skipped = value_of(self.answers, names.SKIPPED, approximation, setting)
        return skipped >= self.observations  # NaN if none was skipped

    def trajectory(self, approximation: str, setting: str = "") -> pd.DataFrame:
        """Return the steps of one algorithm."""
        return select(self.steps, approximation, setting)

    def repeated_inclusions(self, factors: str) -> pd.DataFrame:
        """Return the rows for these factors; `relative` is the standard deviation over the mean."""
        selected = self.repeated[self.repeated["factors"] == factors].reset_index(drop=True)
        return selected.assign(relative=selected["std"] / selected["mean"].abs())


def select(table: pd.DataFrame, approximation: str, setting: str) -> pd.DataFrame:
    """Return the rows of one algorithm with one setting."""
    selected = (table["approximation"] == approximation) & (table["setting"] == setting)
    return table[selected].reset_index(drop=True)


def read_run(folder: RunFolder) -> NoisePrecisionRun:
    """Read the tables of a finished run.

    Raises:
        UserError: if a table is damaged.
    """
    answers = read_answers(folder)
    with_powers = names.CAVI in set(answers["approximation"])
    moments = ("power", "alpha", "mean", "std", "weight_std", "log_evidence")
    return NoisePrecisionRun(
        answers,
        _settings_filled(read_table(folder, names.DENSITIES, ("noise_precision", "density"))),
        _settings_filled(read_table(folder, names.STEPS, ("step", "mean", "objective", "gap"))),
        _settings_filled(read_table(folder, names.ORDERS, ("order", "mean", "std"))),
        read_table(folder, names.REPEATED, ("inclusions", "mean", "std")),
        read_table(folder, names.POWERS, moments) if with_powers else pd.DataFrame(),
        len(read_table(folder, names.POINTS, ("input", "target"))),
    )


def _settings_filled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(setting=table["setting"].fillna(""))
