"""The page of a run of the clutter problem."""

from __future__ import annotations

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.claims import claims
from bnnbench.suites.inference_toys.clutter.figures import (
    error_figure,
    order_figure,
    posterior_figure,
    power_figure,
)
from bnnbench.suites.inference_toys.clutter.saved_run import read_run

CAPTION = (
    "theta is the mean of the signal among clutter; log evidence in nats. ADF: mean ± standard "
    "error over random orders. Importance sampling: mean ± standard error over repetitions, with "
    "the largest number of draws and the prior as proposal. The log evidence of variational Bayes "
    "and Gaussian VI (minimum reverse KL) is their lower bound."
)


def notes(folder: RunFolder) -> list[str]:
    """Return the notes below the table."""
    run = read_run(folder)
    lines = [
        "Work is the number of likelihood factors evaluated, at one theta or under one Gaussian; "
        "power EP by quadrature needs about two hundred times more than EP."
    ]
    skipped = int(run.orders["skipped"].sum())
    if skipped:
        lines.append(f"EP skipped {skipped} updates that would have left an improper Gaussian.")
    return lines


EXPERIMENT_PAGE = ExperimentPage(
    kind=names.KIND,
    title="The clutter problem",
    caption=CAPTION,
    figures={
        "error_against_work": error_figure,
        "orders": order_figure,
        "posterior": posterior_figure,
        "powers": power_figure,
    },
    captions={
        "error_against_work": "Absolute errors in the posterior mean and log evidence against the "
        "number of likelihood factors evaluated. Lines and bands: median and 10 % to 90 % "
        "quantiles over random orders (EP) or repetitions (importance sampling); large open "
        "circles: the first pass of EP, which is ADF",
        "orders": "Errors of ADF and EP: one dot per random order of the observations, spread out "
        "vertically for legibility. Vertical line: the exact value",
        "posterior": "Left: exact posterior (grey area), its approximations (lines) and the "
        "observations (ticks). Right: error of the log evidence, or of its lower bound, after "
        "each pass over the observations; horizontal line: the exact value",
        "powers": "Errors of power EP in the posterior mean, standard deviation and log evidence "
        "against the power (dots). Horizontal line: Gaussian VI, the limit for small powers; "
        "dotted vertical line: power 1, which is EP",
    },
    statements=claims,
    read_evidence=read_run,
    notes=notes,
)
