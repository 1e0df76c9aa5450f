"""The rules by which the book's claims on EM are checked on a run's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.results.claims import Finding
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.reading import read_table

SLACK = 1e-10
"""Of a log-likelihood, relative, that rounding may take."""


@dataclass(frozen=True)
class FactoryRun:
    """The tables of a run, as they were written."""

    answers: pd.DataFrame
    iterates: pd.DataFrame

    @property
    def paths(self) -> list[tuple[int, pd.DataFrame]]:
        """The iterates from every start, with its number."""
        column = self.iterates["start"]
        return [(int(start), self.iterates[column == start]) for start in sorted(column.unique())]

    def of(self, approximation: str, quantities: Sequence[str]) -> pd.DataFrame:
        """The answers of one algorithm, from every start."""
        own = self.answers[self.answers["approximation"] == approximation]
        return own[own["quantity"].isin(quantities)]


def read_factory(folder: RunFolder) -> FactoryRun:
    """The tables of a finished run."""
    iterates = read_table(folder, names.ITERATES, names.NUMBERS[names.ITERATES])
    return FactoryRun(read_answers(folder), iterates)


@dataclass(frozen=True)
class NeverFalls:
    """Whether every iteration raises the likelihood of what was counted."""

    rule: str = "the log-likelihood (2.54) never falls from one iteration to the next, in any start"

    def find(self, run: FactoryRun) -> Finding:
        steps, falls = 0, 0
        for _, path in run.paths:
            heights = path["log_likelihood"].to_numpy()
            steps += len(heights) - 1
            falls += int((np.diff(heights) < -SLACK * np.abs(heights[1:])).sum())
        return falls == 0, f"{falls} falls in {steps} iterations"


@dataclass(frozen=True)
class Reaches:
    """Whether an algorithm ends at the closed form, as that is read."""

    approximation: str
    within: float

    @property
    def rule(self) -> str:
        """What has to hold."""
        return (
            f"{self.approximation} ends within a relative {self.within:g} of beta, tau_1 and tau_n "
            "of (2.63)-(2.65), from every start"
        )

    def find(self, run: FactoryRun) -> Finding:
        """Compares the ends."""
        own = run.of(self.approximation, (names.BETA, names.TAU_1, names.TAU_N))
        off = (own["value"] / own["exact"] - 1).abs()
        beta = own[own["quantity"] == names.BETA].iloc[0]
        said = f"beta {beta['value']:.6f} against {beta['exact']:.6f}; "
        return bool((off <= self.within).all()), f"{said}largest relative distance {off.max():.1g}"


@dataclass(frozen=True)
class Geometric:
    """Whether the error falls by the share of missing information."""

    rule: str = (
        "from every start the factor by which the error falls is within 1 % of the greatest "
        "eigenvalue of I - complete^-1 observed information"
    )

    def find(self, run: FactoryRun) -> Finding:
        own = run.of(names.EM, (names.RATE,)).dropna(subset="value")
        if own.empty:
            return None, "too few iterations to measure a rate by"
        off = (own["value"] / own["exact"] - 1).abs()
        measured = ", ".join(f"{value:.4f}" for value in own["value"])
        return bool((off <= 0.01).all()), f"{measured} against {own['exact'].iloc[0]:.4f}"
