"""Rules on failed repetitions."""

from __future__ import annotations

from dataclasses import dataclass

from bnnbench.results.claims import CheckResult
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence
from bnnbench.suites.lam_density_ratio.comparison.published import Cell
from bnnbench.suites.lam_density_ratio.comparison.rules import MIN_REPETITIONS


@dataclass(frozen=True)
class FailsOften:
    """Whether about half of the repetitions get stuck at a ratio of zero."""

    cells: tuple[Cell, ...]
    low: float = 0.25
    high: float = 0.75

    @property
    def rule(self) -> str:
        return (
            f"between {self.low:.0%} and {self.high:.0%} of the repetitions of the ReLU ratio are "
            "stuck at -log 1e-18, over all runs of it"
        )

    def check(self, evidence: Evidence) -> CheckResult:
        available = [evidence.runs[cell] for cell in self.cells if cell in evidence.runs]
        total, stuck = sum(len(r.repetitions) for r in available), sum(r.stuck for r in available)
        if total < MIN_REPETITIONS:
            return None, f"{total} repetitions of the ReLU ratio, fewer than {MIN_REPETITIONS}"
        return self.low * total <= stuck <= self.high * total, f"{stuck} of {total} are stuck"


@dataclass(frozen=True)
class NeverFails:
    """Whether no repetition of the exponential ratio fails."""

    cells: tuple[Cell, ...]
    rule: str = "no repetition of the exponential ratio fails"

    def check(self, evidence: Evidence) -> CheckResult:
        available = [evidence.runs[cell] for cell in self.cells if cell in evidence.runs]
        total = sum(len(run.repetitions) for run in available)
        failed = total - sum(len(run.finished) for run in available)
        if total < MIN_REPETITIONS:
            return (
                None,
                f"{total} repetitions of the exponential ratio, fewer than {MIN_REPETITIONS}",
            )
        return failed == 0, f"{failed} of {total} fail"
