"""Rules on learning curves, as means over repetitions by iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.results.claims import CheckResult
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, SprinklerRun
from bnnbench.suites.lam_density_ratio.comparison.published import Cell
from bnnbench.suites.lam_density_ratio.comparison.rules import (
    SIGNIFICANCE,
    describe_sample,
    describe_test,
)
from bnnbench.suites.lam_density_ratio.comparison.statistics import welch

EARLY_ITERATIONS = 500
"""Iterations after which, according to the thesis, the loss of reverse KL is steady."""

BURN_IN = 0.1
"""Fraction of the iterations before trends are fitted."""


@dataclass(frozen=True)
class ConvergesFaster:
    """Whether the prior contrast reaches the joint one's final score in half as many iterations.

    Attributes:
        pairs: table and cell of the prior contrast, then of the joint one.
    """

    pairs: tuple[tuple[tuple[str, Cell], tuple[str, Cell]], ...]

    @property
    def rule(self) -> str:
        return (
            "in every available pair, the mean average KL of the prior contrast reaches the final "
            "value of the joint contrast in at most half of the latter's iterations (thesis: its "
            "final value)"
        )

    def check(self, evidence: Evidence) -> CheckResult:
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
            return None, "no estimator was run with both contrasts"
        return all(holds), "; ".join(parts) + evidence.deviation_note(used)


def _reached(evidence: Evidence, cell: Cell, end: float, level: float) -> int | None:
    """Return the first iteration at which the mean is at most `level`, or None."""
    if cell not in evidence.runs:
        return evidence.iterations[cell] if end <= level else None
    mean_curve = evidence.runs[cell].mean_curve["average_kl"]
    low = mean_curve.index[mean_curve <= level]
    return int(low[0]) if len(low) else None


@dataclass(frozen=True)
class NoGainFromLongerTraining:
    """Whether twice as many iterations do not lower the final score.

    Attributes:
        cells: configurations that may have a longer run with otherwise equal settings.
    """

    cells: tuple[Cell, ...]
    rule: str = (
        "no run of at least twice the iterations and otherwise equal settings has a lower mean "
        "average KL with Welch's p below 0.05"
    )

    def check(self, evidence: Evidence) -> CheckResult:
        both = [
            (cell, run, longer)
            for cell, run in evidence.runs.items()
            for longer in evidence.others
            if cell in self.cells and longer.cell == cell and _twice(longer, run)
        ]
        if not both:
            return None, "no run with twice the iterations of another"
        parts, holds = [], []
        for cell, run, longer in both:
            test = welch(longer.sample(), run.sample())
            holds.append(not (test.difference < 0 and test.p < SIGNIFICANCE))
            parts.append(describe_test(f"{cell.name}, longer minus shorter", test))
        return all(holds), "; ".join(parts) + evidence.deviation_note(cell for cell, _, _ in both)


def _twice(longer: SprinklerRun, run: SprinklerRun) -> bool:
    """Return whether two runs differ only in that one has at least twice the iterations."""
    rest = [
        {k: v for k, v in either.metadata.items() if k != "iterations"} for either in (longer, run)
    ]
    return rest[0] == rest[1] and longer.metadata["iterations"] >= 2 * run.metadata["iterations"]


@dataclass(frozen=True)
class FallsFasterEarly:
    """Whether the average KL falls faster at first under GAN than under reverse KL.

    Attributes:
        pairs: cell under GAN, cell under reverse KL.
    """

    pairs: tuple[tuple[Cell, Cell], ...]
    rule: str = (
        "in every available pair, the mean average KL over the evaluations up to iteration "
        f"{EARLY_ITERATIONS}, without the first, is lower under GAN"
    )

    def check(self, evidence: Evidence) -> CheckResult:
        parts, holds, used = [], [], []
        for gan, other in self.pairs:
            if gan in evidence.runs and other in evidence.runs:
                first, second = (
                    _early(evidence.runs[c].mean_curve["average_kl"]) for c in (gan, other)
                )
                holds.append(first < second)
                parts.append(f"{gan.contrast}, {gan.estimator}: {first:.3f} against {second:.3f}")
                used += [gan, other]
        if not parts:
            return None, "no estimator was run with both divergences"
        return all(holds), "; ".join(parts) + evidence.deviation_note(used)


def _early(mean_curve: pd.Series) -> float:
    return float(mean_curve[(mean_curve.index > 0) & (mean_curve.index <= EARLY_ITERATIONS)].mean())


@dataclass(frozen=True)
class LossSettles:
    """Whether the loss of reverse KL fluctuates at first and steadies, and that of GAN does not."""

    pairs: tuple[tuple[Cell, Cell], ...]
    rule: str = (
        "in every available pair, the mean change of the estimator loss between evaluations under "
        f"reverse KL up to iteration {EARLY_ITERATIONS} is at least twice that of later iterations "
        "and twice that under GAN"
    )

    def check(self, evidence: Evidence) -> CheckResult:
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
            return None, "no estimator was run with both divergences"
        return all(holds), "; ".join(parts) + evidence.deviation_note(used)


def _changes(run: SprinklerRun) -> tuple[float, float]:
    """Return the mean change of the estimator loss up to `EARLY_ITERATIONS` and after it."""
    wide = run.finished_curves.pivot(
        index="iteration", columns="repetition", values="estimator_loss"
    )
    change = wide.diff().abs().iloc[1:].mean(axis=1)
    early = change.index <= EARLY_ITERATIONS
    return float(change[early].mean()), float(change[~early].mean())


@dataclass(frozen=True)
class NelboRises:
    """Whether the NELBO of the joint contrast rises while the average KL falls."""

    cells: tuple[Cell, ...]
    rule: str = (
        f"after the first {BURN_IN:.0%} of the iterations the least-squares slope of the mean "
        "NELBO is positive and that of the mean average KL is negative, in every run with the "
        "joint contrast"
    )

    def check(self, evidence: Evidence) -> CheckResult:
        available = {c: evidence.runs[c] for c in self.cells if c in evidence.runs}
        if not available:
            return None, "no run with the joint contrast"
        slopes = {cell: _slopes(run.mean_curve) for cell, run in available.items()}
        parts = [
            f"{cell.setting}, {cell.name}: NELBO {nelbo:+.3g}, average KL {kl:+.3g}"
            for cell, (nelbo, kl) in slopes.items()
        ]
        holds = all(nelbo > 0 > kl for nelbo, kl in slopes.values())
        return (
            holds,
            f"nats per thousand iterations: {'; '.join(parts)}{evidence.deviation_note(available)}",
        )


def _slopes(mean_curve: pd.DataFrame) -> tuple[float, float]:
    """Return the slopes of NELBO and average KL, nats per thousand iterations."""
    late = mean_curve[mean_curve.index >= BURN_IN * mean_curve.index.max()].dropna()
    if len(late) < 3:
        return float("nan"), float("nan")
    return tuple(  # type: ignore[return-value]
        float(np.polyfit(late.index / 1000, late[name], 1)[0]) for name in ("nelbo", "average_kl")
    )


@dataclass(frozen=True)
class NelboFallsWithModelObservations:
    """Whether the NELBO falls towards zero if observations are drawn from the model."""

    cells: tuple[Cell, ...]
    rule: str = (
        "with experiment.observations=model the mean NELBO over the last tenth of the iterations "
        "is below 0.5 and less than half of that with the five atoms, in every pair of runs"
    )

    def check(self, evidence: Evidence) -> CheckResult:
        both = [c for c in self.cells if c in evidence.runs and c in evidence.model_runs]
        if not both:
            return None, "no configuration was run with observations=data and observations=model"
        parts, holds = [], []
        for cell in both:
            atoms, model = (
                _final_nelbo(source[cell]) for source in (evidence.runs, evidence.model_runs)
            )
            holds.append(model < 0.5 and model < atoms / 2)
            kl = evidence.model_runs[cell].sample()
            parts.append(
                f"{cell.setting}, {cell.name}: {model:.3f} instead of {atoms:.3f}, average KL "
                f"{describe_sample(kl)}"
            )
        return all(holds), "; ".join(parts) + evidence.deviation_note(both)


def _final_nelbo(run: SprinklerRun) -> float:
    nelbo = run.mean_curve["nelbo"]
    return float(nelbo[nelbo.index >= 0.9 * nelbo.index.max()].mean())
