"""Rules that check the sources' claims about EM on a run's results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.results.claims import CheckResult
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.saved_tables import read_table

ROUNDING_TOLERANCE = 1e-10
"""Rounding error allowed in a log-likelihood, relative."""


@dataclass(frozen=True)
class EMFactoryRun:
    """The saved tables of a run."""

    answers: pd.DataFrame
    iterates: pd.DataFrame

    @property
    def trajectories(self) -> list[tuple[int, pd.DataFrame]]:
        """The number of each start and its iterates."""
        column = self.iterates["start"]
        return [(int(start), self.iterates[column == start]) for start in sorted(column.unique())]

    def select(self, approximation: str, quantities: Sequence[str]) -> pd.DataFrame:
        """Return the answers of one algorithm for every start."""
        rows = self.answers[self.answers["approximation"] == approximation]
        return rows[rows["quantity"].isin(quantities)]


def read_run(folder: RunFolder) -> EMFactoryRun:
    """Read the tables of a finished run."""
    iterates = read_table(folder, names.ITERATES, names.NUMERIC_COLUMNS[names.ITERATES])
    return EMFactoryRun(read_answers(folder), iterates)


@dataclass(frozen=True)
class LikelihoodNeverDecreases:
    """No iteration decreases the observed-data likelihood."""

    rule: str = "no iteration from any start decreases the log-likelihood (2.54)"

    def check(self, run: EMFactoryRun) -> CheckResult:
        iterations, decreases = 0, 0
        for _, trajectory in run.trajectories:
            values = trajectory["log_likelihood"].to_numpy()
            iterations += len(values) - 1
            decreases += int((np.diff(values) < -ROUNDING_TOLERANCE * np.abs(values[1:])).sum())
        return decreases == 0, f"{decreases} decreases in {iterations} iterations"


@dataclass(frozen=True)
class ReachesClosedForm:
    """An algorithm converges to the closed form."""

    approximation: str
    tolerance: float

    @property
    def rule(self) -> str:
        return (
            f"{self.approximation} converges to beta, tau_1 and tau_n of (2.63)-(2.65) within a "
            f"relative {self.tolerance:g} from every start"
        )

    def check(self, run: EMFactoryRun) -> CheckResult:
        rows = run.select(self.approximation, (names.BETA, names.TAU_1, names.TAU_N))
        errors = (rows["value"] / rows["exact"] - 1).abs()
        beta = rows[rows["quantity"] == names.BETA].iloc[0]
        evidence = f"beta {beta['value']:.6f} vs {beta['exact']:.6f}; "
        evidence += f"largest relative error {errors.max():.1g}"
        return bool((errors <= self.tolerance).all()), evidence


@dataclass(frozen=True)
class ConvergesGeometrically:
    """The convergence rate equals the fraction of missing information."""

    rule: str = (
        "from every start, the error decreases per iteration by a factor within 1 % of the largest "
        "eigenvalue of I - complete^-1 observed information"
    )

    def check(self, run: EMFactoryRun) -> CheckResult:
        rows = run.select(names.EM, (names.RATE,)).dropna(subset="value")
        if rows.empty:
            return None, "too few iterations to measure a rate"
        errors = (rows["value"] / rows["exact"] - 1).abs()
        rates = ", ".join(f"{value:.4f}" for value in rows["value"])
        return bool((errors <= 0.01).all()), f"{rates} vs {rows['exact'].iloc[0]:.4f}"
