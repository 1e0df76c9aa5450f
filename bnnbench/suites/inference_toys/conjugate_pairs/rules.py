"""Rules that check the book's claims about conjugate pairs on a run's results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.results.claims import CheckResult
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.saved_tables import read_table

QUADRATURE_TOLERANCE = 1e-5
"""Relative error allowed for the quadrature."""

MINIMISER_TOLERANCE = 0.02
"""Error allowed for a minimiser, in posterior standard deviations."""


@dataclass(frozen=True)
class ConjugatePairsRun:
    """The saved tables of a run."""

    answers: pd.DataFrame
    decisions: pd.DataFrame
    transforms: pd.DataFrame

    @property
    def sizes(self) -> list[int]:
        """The numbers of observations, increasing."""
        return sorted(int(size) for size in self.decisions["observations"].unique())

    def value(self, pair: str, estimate: str, size: int) -> float:
        """Return an estimate in closed form."""
        selected = (
            (self.answers["quantity"] == names.quantity(pair, estimate))
            & (self.answers["approximation"] == names.CLOSED_FORM)
            & (self.answers["setting"] == names.setting(size))
        )
        return float(self.answers.loc[selected, "value"].iloc[0])


def read_run(folder: RunFolder) -> ConjugatePairsRun:
    """Read the tables of a finished run."""
    tables = (
        read_table(folder, name, names.NUMERIC_COLUMNS[name])
        for name in (names.DECISIONS, names.TRANSFORMS)
    )
    return ConjugatePairsRun(read_answers(folder), *tables)


@dataclass(frozen=True)
class MatchesQuadrature:
    """A closed form agrees with quadrature."""

    pair: str
    estimates: tuple[str, ...]
    approximation: str = names.CLOSED_FORM

    @property
    def rule(self) -> str:
        return (
            f"{' and '.join(self.estimates)} agree with quadrature to a relative "
            f"{QUADRATURE_TOLERANCE:g} for every number of observations"
        )

    def check(self, run: ConjugatePairsRun) -> CheckResult:
        quantities = [names.quantity(self.pair, estimate) for estimate in self.estimates]
        rows = run.answers[run.answers["quantity"].isin(quantities)]
        rows = rows[rows["approximation"] == self.approximation]
        errors = (rows["value"] - rows["exact"]).abs() / rows["exact"].abs()
        worst = rows.loc[errors.idxmax()]
        evidence = f"{worst['quantity']} {worst['value']:.5g} vs {worst['exact']:.5g}"
        holds = bool((errors <= QUADRATURE_TOLERANCE).all())
        return holds, f"largest error for {worst['setting']}: {evidence}"


@dataclass(frozen=True)
class MLEAndMAPConverge:
    """MLE and MAP differ, and the difference decreases with more data."""

    rule: str = (
        "MLE and MAP differ for every pair and number of observations, and the difference "
        "decreases with the number of observations"
    )

    def check(self, run: ConjugatePairsRun) -> CheckResult:
        holds, evidence = zip(*self._each(run), strict=True)
        return all(holds), "; ".join(evidence)

    def _each(self, run: ConjugatePairsRun) -> Iterator[tuple[bool, str]]:
        for pair in names.PAIRS:
            differences = np.array(
                [abs(run.value(pair, names.MAP, n) - run.value(pair, names.MLE, n))
                 for n in run.sizes]
            )  # fmt: skip
            holds = (differences > 0).all() and (np.diff(differences) < 0).all()
            yield bool(holds), f"{pair} {', '.join(f'{value:.2g}' for value in differences)}"


@dataclass(frozen=True)
class LossMinimisedBy:
    """The estimate named by `LOSSES` minimises an expected loss."""

    loss: str

    @property
    def rule(self) -> str:
        loss = "0-1 loss (zero within 0.01 standard deviations)"
        loss = loss if self.loss == "zero_one" else f"{self.loss} loss"
        return (
            f"the numerical minimiser of the {loss} is within {MINIMISER_TOLERANCE} posterior "
            f"standard deviations of the {names.LOSSES[self.loss]} for both pairs and every number "
            "of observations"
        )

    def check(self, run: ConjugatePairsRun) -> CheckResult:
        rows = run.decisions[run.decisions["loss"] == self.loss]
        errors = (rows["minimiser"] - rows["estimate"]).abs() / rows["scale"]
        holds = bool((errors <= MINIMISER_TOLERANCE).all())
        return holds, f"they differ by at most {errors.max():.1g} standard deviations"


@dataclass(frozen=True)
class TransformInvariance:
    """An estimate of the variance equals, or differs from, one over that of the precision."""

    estimate: str
    expected: bool

    @property
    def rule(self) -> str:
        relation = "equals" if self.expected else "differs from"
        return (
            f"the {self.estimate} of the variance {relation} one over that of the precision to a "
            f"relative {QUADRATURE_TOLERANCE:g} for every number of observations"
        )

    def check(self, run: ConjugatePairsRun) -> CheckResult:
        rows = run.transforms[run.transforms["estimate"] == self.estimate]
        same = (rows["direct"] / rows["through_precision"] - 1).abs() <= QUADRATURE_TOLERANCE
        pairs = zip(rows["direct"], rows["through_precision"], strict=True)
        evidence = ", ".join(f"{a:.4g} and {b:.4g}" for a, b in pairs)
        return bool((same == self.expected).all()), evidence
