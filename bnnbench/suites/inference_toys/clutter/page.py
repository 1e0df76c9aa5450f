"""The page of a run of the clutter problem."""

from __future__ import annotations

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.figures import (
    error_figure,
    order_figure,
    posterior_figure,
    power_figure,
)
from bnnbench.suites.inference_toys.clutter.rules import (
    DependsOnOrder,
    EnergyCanIncrease,
    ImproperSites,
    IsLowerBound,
    MisestimatesVariance,
    MostAccuratePerWork,
    PowerEPLimit,
    SameFixedPoint,
    read_run,
)
from bnnbench.suites.inference_toys.sources import BOOK

STATEMENTS = (
    (
        "ADF depends on the ordering of the factors",
        f"{BOOK}, 3.2.2.3",
        DependsOnOrder(),
    ),
    (
        "Refining each factor in the context of all others removes the dependence on the order",
        f"{BOOK}, 3.2.3",
        SameFixedPoint(),
    ),
    (
        "ADF overestimates the variance",
        f"{BOOK}, 3.2.2.3",
        MisestimatesVariance((names.ADF,), overestimates=True),
    ),
    (
        "EP overestimates the variance",
        f"{BOOK}, 3.3",
        MisestimatesVariance((names.EP,), overestimates=True),
    ),
    (
        "Variational inference underestimates the variance",
        f"{BOOK}, 3.2.1.6 and 3.3",
        MisestimatesVariance((names.VB, names.GAUSSIAN_VI), overestimates=False),
    ),
    (
        "A single site need not be a distribution, although the product of all sites is",
        f"{BOOK}, 3.2.3.1",
        ImproperSites(),
    ),
    (
        "Variational inference maximises a lower bound of the log evidence",
        f"{BOOK}, 3.2.1, (3.6) and (3.7)",
        IsLowerBound(),
    ),
    (
        "Power EP is EP at power 1 (alpha = 1) and minimises reverse KL in the limit alpha = -1",
        f"{BOOK}, 3.2.3.3",
        PowerEPLimit(),
    ),
    (
        "An iteration of EP may increase its energy",
        f"{BOOK}, 3.2.3.4",
        EnergyCanIncrease(),
    ),
    (
        "On Gaussian mixtures, EP is more accurate than Monte Carlo, Laplace's method and "
        "variational Bayes for the same amount of computation",
        "Minka, thesis, MIT 2001, abstract",
        MostAccuratePerWork(),
    ),
)

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
    statements=STATEMENTS,
    read_evidence=read_run,
    notes=notes,
)
