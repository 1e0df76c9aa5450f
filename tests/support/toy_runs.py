"""Runs of the toys with known answers, without pages."""

from __future__ import annotations

from pathlib import Path

from bnnbench.config.assemble import build
from bnnbench.experiment.execution import execute
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from support.config import compose
from support.tiny_runs import no_page


def toy_run(page: ExperimentPage, outputs: Path, *overrides: str) -> RunFolder:
    """Execute a run of the experiment that a page presents."""
    settings = (f"experiment={page.kind}", *(f"experiment.{word}" for word in overrides))
    return execute(build(compose(*settings, "workers=1", f"outputs_dir={outputs}")), no_page)


def refuted(page: ExperimentPage, folder: RunFolder) -> dict[str, str]:
    """Draw every figure of a run; return the claims that are not confirmed, with their verdicts."""
    assert all(draw(folder).axes for draw in page.figures.values())
    claims = page.claims(folder)
    return {claim.text: claim.verdict for claim in claims if claim.verdict != "confirmed"}
