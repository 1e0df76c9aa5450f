"""Rules on how training goes, on means over repetitions by iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.results.claims import Finding
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.published import Cell
from bnnbench.suites.lam_density_ratio.comparison.rules import (
    SURE,
    tested,
    told,
)
from bnnbench.suites.lam_density_ratio.comparison.statistics import welch

STEADY = 500
"""Iterations after which the loss of reverse KL is said to be steady."""

SETTLED = 0.1
"""Share of a training after which trends are fitted: the first steps move everything."""


@dataclass(frozen=True)
class Faster:
    """Whether the prior contrast is where the joint one ends in less than half of its iterations.

    Attributes:
        pairs: table and cell with the prior contrast, then with the joint one.
    """

    pairs: tuple[tuple[tuple[str, Cell], tuple[str, Cell]], ...]

    @property
    def rule(self) -> str:
        return (
            "with the prior contrast the mean average KL is at most what the joint one ends with "
            "after at most half of that one's iterations, in every pair that is there (of the "
            "thesis: its last value)"
        )

    def find(self, evidence: Evidence) -> Finding:
        parts, holds, used = [], [], []
        for (table, prior), (other, joint) in self.pairs:
            ends = [evidence.tables.get(t, {}).get(c) for t, c in ((table, prior), (other, joint))]
            if not (ends[0] and ends[1]):
                continue
            reached = _reached(evidence, prior, ends[0].mean, ends[1].mean)
            total = evidence.iterations[joint]
            holds.append(reached is not None and 2 * reached <= total)
            when = "not reached" if reached is None else f"reached after {reached}"
            parts.append(f"{joint.name}: {ends[1].mean:.4f} after {total}, with prior {when}")
            used += [prior, joint]
        if not parts:
            return None, "no estimator has run with both contrasts"
        return all(holds), "; ".join(parts) + evidence.departing(used)


def _reached(evidence: Evidence, cell: Cell, end: float, level: float) -> int | None:
    """The iterations after which a mean is at most `level`; None if it never is."""
    if cell not in evidence.runs:
        return evidence.iterations[cell] if end <= level else None
    course = evidence.runs[cell].course["average_kl"]
    low = course.index[course <= level]
    return int(low[0]) if len(low) else None


@dataclass(frozen=True)
class LongerIsNoBetter:
    """Whether a run of twice the iterations ends no lower.

    Attributes:
        cells: configurations one of which has run for twice as long and otherwise alike.
    """

    cells: tuple[Cell, ...]
    rule: str = (
        "a run of at least twice the iterations and otherwise of the same settings has no lower "
        "mean average KL with Welch's p below 0.05"
    )

    def find(self, evidence: Evidence) -> Finding:
        both = [
            (cell, run, longer)
            for cell, run in evidence.runs.items()
            for longer in evidence.others
            if cell in self.cells and longer.cell == cell and _twice(longer, run)
        ]
        if not both:
            return None, "no run of twice the iterations beside another"
        parts, holds = [], []
        for cell, run, longer in both:
            found = welch(longer.sample(), run.sample())
            holds.append(not (found.value < 0 and found.p < SURE))
            parts.append(tested(f"{cell.name}, longer less shorter", found))
        return all(holds), "; ".join(parts) + evidence.departing(cell for cell, _, _ in both)


def _twice(longer: SprinklerRun, run: SprinklerRun) -> bool:
    """Whether one run is as another but for at least twice the iterations."""
    kept = [{k: v for k, v in one.names.items() if k != "iterations"} for one in (longer, run)]
    return kept[0] == kept[1] and longer.names["iterations"] >= 2 * run.names["iterations"]


@dataclass(frozen=True)
class FallsFirst:
    """Whether the average KL falls faster at first under GAN than under reverse KL.

    Attributes:
        pairs: cell under GAN, cell under reverse KL.
    """

    pairs: tuple[tuple[Cell, Cell], ...]
    rule: str = (
        f"the mean average KL over the evaluations up to iteration {STEADY}, but for the first, is "
        "lower under GAN, in every pair that is there"
    )

    def find(self, evidence: Evidence) -> Finding:
        parts, holds, used = [], [], []
        for gan, other in self.pairs:
            if gan in evidence.runs and other in evidence.runs:
                first, second = (
                    _early(evidence.runs[c].course["average_kl"]) for c in (gan, other)
                )
                holds.append(first < second)
                parts.append(f"{gan.contrast}, {gan.estimator}: {first:.3f} against {second:.3f}")
                used += [gan, other]
        if not parts:
            return None, "no estimator has run under both divergences"
        return all(holds), "; ".join(parts) + evidence.departing(used)


def _early(course: pd.Series) -> float:
    return float(course[(course.index > 0) & (course.index <= STEADY)].mean())


@dataclass(frozen=True)
class Steadies:
    """Whether the loss of reverse KL fluctuates at first and steadies, and that of GAN does not."""

    pairs: tuple[tuple[Cell, Cell], ...]
    rule: str = (
        "the mean change of the estimator loss between evaluations, over repetitions, is under "
        f"reverse KL at least twice as large up to iteration {STEADY} as after it and as under "
        "GAN, in every pair that is there"
    )

    def find(self, evidence: Evidence) -> Finding:
        parts, holds, used = [], [], []
        for gan, other in self.pairs:
            if gan in evidence.runs and other in evidence.runs:
                before, after = _changes(evidence.runs[other])
                calm, _ = _changes(evidence.runs[gan])
                holds.append(before >= 2 * after and before >= 2 * calm)
                parts.append(
                    f"{gan.contrast}, {gan.estimator}: {before:.3g}, then {after:.3g}, under GAN "
                    f"{calm:.3g}"
                )
                used += [gan, other]
        if not parts:
            return None, "no estimator has run under both divergences"
        return all(holds), "; ".join(parts) + evidence.departing(used)


def _changes(run: SprinklerRun) -> tuple[float, float]:
    """Mean size of the estimator loss's changes up to `STEADY` and after it."""
    wide = run.own_curves.pivot(index="iteration", columns="repetition", values="estimator_loss")
    change = wide.diff().abs().iloc[1:].mean(axis=1)
    early = change.index <= STEADY
    return float(change[early].mean()), float(change[~early].mean())


@dataclass(frozen=True)
class Rises:
    """Whether with the joint contrast the NELBO rises while the average KL falls."""

    cells: tuple[Cell, ...]
    rule: str = (
        f"after the first {SETTLED:.0%} of the iterations the least-squares slope of the mean "
        "NELBO is positive and that of the mean average KL negative, in every run with the joint "
        "contrast"
    )

    def find(self, evidence: Evidence) -> Finding:
        own = {c: evidence.runs[c] for c in self.cells if c in evidence.runs}
        if not own:
            return None, "no run with the joint contrast"
        slopes = {cell: _slopes(run.course) for cell, run in own.items()}
        parts = [
            f"{cell.setting}, {cell.name}: NELBO {nelbo:+.3g}, average KL {kl:+.3g}"
            for cell, (nelbo, kl) in slopes.items()
        ]
        holds = all(nelbo > 0 > kl for nelbo, kl in slopes.values())
        return holds, f"nats per thousand iterations: {'; '.join(parts)}{evidence.departing(own)}"


def _slopes(course: pd.DataFrame) -> tuple[float, float]:
    """Of NELBO and average KL, nats per thousand iterations."""
    late = course[course.index >= SETTLED * course.index.max()].dropna()
    if len(late) < 3:
        return float("nan"), float("nan")
    return tuple(  # type: ignore[return-value]
        float(np.polyfit(late.index / 1000, late[name], 1)[0]) for name in ("nelbo", "average_kl")
    )


@dataclass(frozen=True)
class Remedied:
    """Whether the NELBO falls towards zero once observations are drawn from the model."""

    cells: tuple[Cell, ...]
    rule: str = (
        "with observations=model the mean NELBO over the last tenth of the iterations is less than "
        "half of that with the five atoms and below 0.5, in every run of both"
    )

    def find(self, evidence: Evidence) -> Finding:
        both = [c for c in self.cells if c in evidence.runs and c in evidence.remedied]
        if not both:
            return None, "no configuration has run with observations=data and observations=model"
        parts, holds = [], []
        for cell in both:
            atoms, model = (_end(of[cell]) for of in (evidence.runs, evidence.remedied))
            holds.append(model < 0.5 and model < atoms / 2)
            kl = evidence.remedied[cell].sample()
            parts.append(
                f"{cell.setting}, {cell.name}: {model:.3f} instead of {atoms:.3f}, average KL "
                f"{told(kl)}"
            )
        return all(holds), "; ".join(parts) + evidence.departing(both)


def _end(run: SprinklerRun) -> float:
    nelbo = run.course["nelbo"]
    return float(nelbo[nelbo.index >= 0.9 * nelbo.index.max()].mean())
