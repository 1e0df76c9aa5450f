"""The rules by which the book's claims on conjugate pairs are checked on a run's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import read_answers
from bnnbench.results.claims import Finding
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.reading import read_table

EXACT = 1e-5
"""Relative distance that the quadrature may have."""

NEAR = 0.02
"""Of a posterior deviation, to which a minimum is found."""


@dataclass(frozen=True)
class PairsRun:
    """The tables of a run, as they were written."""

    answers: pd.DataFrame
    decisions: pd.DataFrame
    transforms: pd.DataFrame

    @property
    def sizes(self) -> list[int]:
        """The numbers of observations, rising."""
        return sorted(int(size) for size in self.decisions["observations"].unique())

    def value(self, pair: str, estimate: str, size: int) -> float:
        """An estimate in closed form."""
        chosen = (
            (self.answers["quantity"] == names.quantity(pair, estimate))
            & (self.answers["approximation"] == names.CLOSED_FORM)
            & (self.answers["setting"] == names.setting(size))
        )
        return float(self.answers.loc[chosen, "value"].iloc[0])


def read_pairs(folder: RunFolder) -> PairsRun:
    """The tables of a finished run."""
    tables = (
        read_table(folder, name, names.NUMBERS[name])
        for name in (names.DECISIONS, names.TRANSFORMS)
    )
    return PairsRun(read_answers(folder), *tables)


@dataclass(frozen=True)
class IsPosterior:
    """Whether a closed form is the posterior, by quadrature."""

    pair: str
    estimates: tuple[str, ...]
    approximation: str = names.CLOSED_FORM

    @property
    def rule(self) -> str:
        """What has to hold."""
        return (
            f"{' and '.join(self.estimates)} are within a relative {EXACT:g} of those by "
            "quadrature, for every number of observations"
        )

    def find(self, run: PairsRun) -> Finding:
        """Compares both."""
        quantities = [names.quantity(self.pair, estimate) for estimate in self.estimates]
        own = run.answers[run.answers["quantity"].isin(quantities)]
        own = own[own["approximation"] == self.approximation]
        off = (own["value"] - own["exact"]).abs() / own["exact"].abs()
        worst = own.loc[off.idxmax()]
        said = f"{worst['quantity']} {worst['value']:.5g} against {worst['exact']:.5g}"
        return bool((off <= EXACT).all()), f"worst at {worst['setting']}: {said}"


@dataclass(frozen=True)
class Differ:
    """Whether likelihood and posterior have their highest points apart, nearer with more data."""

    rule: str = (
        "MLE and MAP differ for every pair and number of observations, and by less with each "
        "larger number"
    )

    def find(self, run: PairsRun) -> Finding:
        holds, said = zip(*self._each(run), strict=True)
        return all(holds), "; ".join(said)

    def _each(self, run: PairsRun) -> Iterator[tuple[bool, str]]:
        for pair in names.PAIRS:
            apart = np.array(
                [abs(run.value(pair, names.MAP, n) - run.value(pair, names.MLE, n))
                 for n in run.sizes]
            )  # fmt: skip
            held = (apart > 0).all() and (np.diff(apart) < 0).all()
            yield bool(held), f"{pair} {', '.join(f'{value:.2g}' for value in apart)}"


@dataclass(frozen=True)
class LeadsTo:
    """Whether an expected loss is least at the estimate that goes with it."""

    loss: str

    @property
    def rule(self) -> str:
        """What has to hold."""
        gap = ", its gap 0.01 of a deviation to either side" if self.loss == "zero_one" else ""
        return (
            f"the numerical minimum{gap} is within {NEAR} posterior deviations of the "
            f"{names.LOSSES[self.loss]}, for both pairs and every number of observations"
        )

    def find(self, run: PairsRun) -> Finding:
        """Compares the places."""
        own = run.decisions[run.decisions["loss"] == self.loss]
        off = (own["minimiser"] - own["estimate"]).abs() / own["scale"]
        return bool((off <= NEAR).all()), f"at most {off.max():.1g} deviations apart"


@dataclass(frozen=True)
class Invariant:
    """Whether an estimate of the variance is one over that of the precision."""

    estimate: str
    expected: bool

    @property
    def rule(self) -> str:
        """What has to hold."""
        who = "is one over" if self.expected else "differs from one over"
        return (
            f"the {self.estimate} of the variance {who} that of the precision, to a relative "
            f"{EXACT:g}, for every number of observations"
        )

    def find(self, run: PairsRun) -> Finding:
        """Compares both."""
        own = run.transforms[run.transforms["estimate"] == self.estimate]
        same = (own["direct"] / own["through_precision"] - 1).abs() <= EXACT
        pairs = zip(own["direct"], own["through_precision"], strict=True)
        evidence = ", ".join(f"{a:.4g} and {b:.4g}" for a, b in pairs)
        return bool((same == self.expected).all()), evidence
