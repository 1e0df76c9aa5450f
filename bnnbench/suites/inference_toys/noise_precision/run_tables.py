"""The tables of a finished run, read once for its figures and rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers, value_of
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.reading import read_table


@dataclass(frozen=True)
class NoiseRun:
    """What a run left; `setting` is empty where an algorithm has only one.

    Attributes:
        answers: of `read_answers`.
        densities: rows of `densities.csv`.
        steps: rows of `steps.csv`.
        orders: rows of `orders.csv`.
        repeated: rows of `repeated.csv`.
        powers: rows of `powers.csv`; none where the target has no weight.
        observations: how many data there were.
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
        """Whether the target is the posterior, and not what (3.48) prints for it."""
        return words.CAVI in set(self.answers["approximation"])

    def exact(self, quantity: str) -> float:
        """The exact answer of the target, NaN where there is none."""
        rows = self.answers[self.answers["quantity"] == quantity]
        own = rows["approximation"] == words.EXACT  # of another target than the posterior
        known = [*rows.loc[own, "value"], *rows.loc[~own, "exact"].dropna()]
        return float(known[0]) if known else np.nan

    def stuck(self, approximation: str, setting: str) -> bool:
        """Whether ADF or EP refused every update, and so is still at the prior."""
        refused = value_of(self.answers, words.REFUSED, approximation, setting)
        return refused >= self.observations  # NaN where none was

    def way(self, approximation: str, setting: str = "") -> pd.DataFrame:
        """The steps of one algorithm."""
        return chosen(self.steps, approximation, setting)

    def again(self, what: str) -> pd.DataFrame:
        """What the same factors came to by inclusions; `relative` is deviation over mean."""
        own = self.repeated[self.repeated["what"] == what].reset_index(drop=True)
        return own.assign(relative=own["std"] / own["mean"].abs())


def chosen(table: pd.DataFrame, approximation: str, setting: str) -> pd.DataFrame:
    """The rows of one algorithm under one setting."""
    same = (table["approximation"] == approximation) & (table["setting"] == setting)
    return table[same].reset_index(drop=True)


def read_run(folder: RunFolder) -> NoiseRun:
    """The tables of a run.

    Raises:
        UserError: if one is damaged.
    """
    answers = read_answers(folder)
    with_powers = words.CAVI in set(answers["approximation"])
    moments = ("power", "alpha", "mean", "std", "weight_std", "log_evidence")
    return NoiseRun(
        answers,
        _settings_filled(read_table(folder, words.DENSITIES, ("noise_precision", "density"))),
        _settings_filled(read_table(folder, words.STEPS, ("step", "mean", "objective", "gap"))),
        _settings_filled(read_table(folder, words.ORDERS, ("order", "mean", "std"))),
        read_table(folder, words.REPEATED, ("times", "mean", "std")),
        read_table(folder, words.POWERS, moments) if with_powers else pd.DataFrame(),
        len(read_table(folder, words.POINTS, ("input", "target"))),
    )


def _settings_filled(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(setting=table["setting"].fillna(""))
