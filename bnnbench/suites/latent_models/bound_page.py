"""Base class of the pages of runs with bounds of log p(x)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.results.claims.claims import Claim
from bnnbench.results.claims.saved_run import images_of
from bnnbench.suites.latent_models.names import BINARISATION, with_draws
from bnnbench.suites.latent_models.saved_run import draws_of, subset_notes

BOUNDS = (
    "Mean ± standard error over repetitions, nats per test image. Bounds are importance-weighted, "
    "as the objective of an IWAE, with the named number of draws of q(z|x) for each image; the "
    "ELBO has one. Each is a lower bound of log p(x) in expectation, whose gap the run does not "
    "measure: to see it, compare two runs with experiment.evaluated_images=100, one of them with "
    "experiment.importance_samples=32768."
)
"""Begins a caption."""

IMAGES_OF_RUN = images_of(BINARISATION)
"""Names the images of a run."""


@dataclass(frozen=True)
class BoundPage(ExperimentPage):
    """The page of a run whose claims name the number of draws in the bound of log p(x)."""

    notes: Callable[[RunFolder], list[str]] = subset_notes
    data_of: Callable[[RunFolder], str | None] = IMAGES_OF_RUN

    def claims(self, folder: RunFolder) -> list[Claim]:
        """Check the statements against a run, and name its number of draws in them."""
        draws = draws_of(folder)
        return [
            replace(claim, text=with_draws(claim.text, draws), rule=with_draws(claim.rule, draws))
            for claim in super().claims(folder)
        ]
