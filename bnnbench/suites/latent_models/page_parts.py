"""What pages of this suite share: readers of runs, tests of margins, curves, and a base class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from matplotlib.axes import Axes

from bnnbench.experiment.store.answer_tables import CURVES, SCORES, Sample
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.report.figures.plotting import PALETTE, PlotOptions
from bnnbench.results.claims.claims import CheckResult, Claim
from bnnbench.results.claims.mean_tests import LEVEL, are_within, one_sample
from bnnbench.results.claims.saved_run import SavedRun, images_of, run_reader
from bnnbench.results.compare.significance import INTERVAL
from bnnbench.suites.latent_models.names import BINARISATION, with_draws

BOUNDS = (
    "Mean ± standard error over repetitions, nats per test image. Bounds are importance-weighted, "
    "as the objective of an IWAE, with the named number of draws of q(z|x) for each image; the "
    "ELBO has one. Each is a lower bound of log p(x) in expectation, whose gap the run does not "
    "measure: to see it, compare two runs with experiment.evaluated_images=100, one of them with "
    "experiment.importance_samples=32768."
)
"""Begins a caption."""

COLOURS = (*PALETTE, "#E60066", "#6A0DAD")
"""Colours of ten lines or classes."""

EQUAL = (
    f"(with the whole {INTERVAL} of the t-test over repetitions; contradicted if the "
    f"margin is significantly exceeded, p below {LEVEL} after Holm's correction)"
)
"""Description of the tests in a rule."""

IMAGES_OF_RUN = images_of(BINARISATION)
"""Names the images of a run."""

read_run = run_reader({
    SCORES: ("repetition", "elbo_train", "elbo", "log_p", "rate", "distortion", "active_units",
             "probe_accuracy"),
    CURVES: ("repetition", "epoch", "step", "elbo_train", "elbo_test", "rate_train", "rate_test"),
})  # fmt: skip
"""Reads a run of autoencoders."""


def draws_of(folder: RunFolder) -> int:
    """Return a run's number of draws for each image in the bound of log p(x)."""
    return int(read_record(folder).identity["importance_samples"])


def check_margin(
    samples: Mapping[str, Sample], margin: float, below: bool = True, above: bool = True
) -> CheckResult:
    """Check whether differences, paired by repetition, lie within a margin, as `are_within`."""
    tests = map(one_sample, samples.values())
    evidence = "; ".join(f"{name}: {sample}" for name, sample in samples.items())
    return are_within(tests, margin, below=below, above=above), evidence


def plot_curves(axes: Axes, run: SavedRun, column: str, lines: Mapping[str, PlotOptions]) -> None:
    """Plot the mean over repetitions by epoch.

    Args:
        axes: the panel.
        run: the run.
        column: of the curves.
        lines: options of the lines by unit.
    """
    for unit, options in lines.items():
        means = run.rows(CURVES, unit=unit).groupby("epoch")[column].mean()
        axes.plot(means.index, means, **options)
    axes.set(xlabel="epoch")


def subset_notes(folder: RunFolder) -> list[str]:
    """Return a sentence if not all test images were evaluated."""
    images = read_record(folder).identity["evaluated_images"]
    if images is None:
        return []
    return [
        f"Bounds, rate and distortion are means over {images:,} test images, or all if there are "
        "fewer: a random subset, the same for all models."
    ]


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
