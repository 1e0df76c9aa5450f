"""What a run of the conjugate pairs shows."""

from __future__ import annotations

from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.exhibit import Exhibit
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.figures import posterior_figure, risk_figure
from bnnbench.suites.inference_toys.conjugate_pairs.rules import (
    Differ,
    Invariant,
    IsPosterior,
    LeadsTo,
    read_pairs,
)
from bnnbench.suites.inference_toys.sources import BOOK

STATEMENTS = (
    (
        "The posterior of a normal mean is normal, with (2.38) and (2.39)",
        f"{BOOK}, 2.5.2",
        IsPosterior(names.MEAN_PAIR, (names.MEAN, names.SCALE)),
    ),
    (
        "The posterior of a precision is Gamma, with (2.42)",
        f"{BOOK}, 2.5.2",
        IsPosterior(names.PRECISION_PAIR, (names.MEAN, names.SCALE)),
    ),
    (
        "The Gamma prior counts as 2 alpha observations of sample variance beta / alpha",
        f"{BOOK}, 2.5.2",
        IsPosterior(names.PRECISION_PAIR, (names.MEAN,), names.PSEUDO),
    ),
    (
        "MLE and MAP differ in general, and come together as more data are gathered",
        f"{BOOK}, Fig. 2.4",
        Differ(),
    ),
    (
        "The MLE does not depend on how the parameter is written",
        f"{BOOK}, 2.6.2",
        Invariant(names.MLE, expected=True),
    ),
    (
        "The MAP estimate does",
        f"{BOOK}, 2.6.3",
        Invariant(names.MAP, expected=False),
    ),
    (
        "The quadratic loss leads to the posterior mean",
        f"{BOOK}, 2.6.4",
        LeadsTo("quadratic"),
    ),
    (
        "The absolute loss leads to the posterior median",
        f"{BOOK}, 2.6.4",
        LeadsTo("absolute"),
    ),
    (
        "The 0-1 loss leads to the posterior mode",
        f"{BOOK}, 2.6.4",
        LeadsTo("zero_one"),
    ),
)
"""What the book says that these pairs can show."""

CAPTION = (
    "Estimates in the units of the observations (precision: one over their square), log evidence "
    "in nats; exact: by quadrature and search, without conjugacy. Pseudo-observations: the Gamma "
    "prior replaced by observations."
)

NOTES = {
    "corrected": "(2.38) is read as one over the posterior variance, and (2.39) with the two "
    "variances that the print leaves out (reading=printed).",
    "printed": "(2.38) and (2.39) are taken as printed; where the column of exact values differs, "
    "the print is wrong.",
}


def notes(folder: RunFolder) -> list[str]:
    """Which reading the closed form is."""
    return [NOTES[str(read_record(folder).names["reading"])]]


EXHIBIT = Exhibit(
    kind=names.KIND,
    title="Conjugate pairs",
    caption=CAPTION,
    figures={"posteriors": posterior_figure, "risks": risk_figure},
    statements=STATEMENTS,
    given=read_pairs,
    notes=notes,
)
