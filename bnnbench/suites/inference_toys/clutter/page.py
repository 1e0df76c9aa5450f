"""What a run of the clutter problem shows."""

from __future__ import annotations

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.exhibit import Exhibit
from bnnbench.suites.inference_toys.clutter import names
from bnnbench.suites.inference_toys.clutter.figures import (
    error_figure,
    order_figure,
    posterior_figure,
    power_figure,
)
from bnnbench.suites.inference_toys.clutter.rules import (
    BestForItsWork,
    Bound,
    DependsOnOrder,
    EnergyRises,
    InvalidSites,
    PowerLimits,
    SameFixedPoint,
    Variance,
    read_clutter,
)
from bnnbench.suites.inference_toys.sources import BOOK

STATEMENTS = (
    (
        "ADF depends on the ordering of the factors",
        f"{BOOK}, 3.2.2.3",
        DependsOnOrder(),
    ),
    (
        "Refining every factor in the context of all others mends the sensitivity to the order",
        f"{BOOK}, 3.2.3",
        SameFixedPoint(),
    ),
    (
        "ADF overestimates the variance",
        f"{BOOK}, 3.2.2.3",
        Variance((names.ADF,), wider=True),
    ),
    (
        "EP overestimates the variance",
        f"{BOOK}, 3.3",
        Variance((names.EP,), wider=True),
    ),
    (
        "Variational inference underestimates the variance",
        f"{BOOK}, 3.2.1.6 and 3.3",
        Variance((names.VB, names.GAUSSIAN_VI), wider=False),
    ),
    (
        "A site alone need not be a distribution, though their product is one",
        f"{BOOK}, 3.2.3.1",
        InvalidSites(),
    ),
    (
        "Variational inference climbs a lower bound of the log evidence",
        f"{BOOK}, 3.2.1, (3.6) and (3.7)",
        Bound(),
    ),
    (
        "Power EP is EP at power 1 (alpha = 1), and reverse KL in the limit of alpha = -1",
        f"{BOOK}, 3.2.3.3",
        PowerLimits(),
    ),
    (
        "An iteration of EP may increase its energy",
        f"{BOOK}, 3.2.3.4",
        EnergyRises(),
    ),
    (
        "On Gaussian mixtures EP is better than Monte Carlo, Laplace's method and variational "
        "Bayes for the same amount of computation",
        "Minka, thesis, MIT 2001, abstract",
        BestForItsWork(),
    ),
)
"""What the sources say that this problem can show."""

CAPTION = (
    "theta is the mean of the signal among clutter; log evidence in nats. ADF: mean ± standard "
    "error over random orders; importance sampling: over repetitions with the largest number of "
    "draws, the prior as proposal. For variational Bayes and the Gaussian of least reverse KL the "
    "log evidence is their lower bound. Spread: standard deviation over random orders."
)


def notes(folder: RunFolder) -> list[str]:
    """What a reader of the table must know."""
    run = read_clutter(folder)
    said = [
        "Work is counted in likelihood factors evaluated, at one theta or under one Gaussian; "
        "power EP by quadrature needs some two hundred times more than EP."
    ]
    skipped = int(run.orders["skipped"].sum())
    if skipped:
        said.append(f"EP skipped {skipped} updates that would have left no valid Gaussian.")
    return said


EXHIBIT = Exhibit(
    kind=names.KIND,
    title="The clutter problem",
    caption=CAPTION,
    figures={
        "error_against_work": error_figure,
        "orders": order_figure,
        "posterior": posterior_figure,
        "powers": power_figure,
    },
    statements=STATEMENTS,
    given=read_clutter,
    notes=notes,
)
