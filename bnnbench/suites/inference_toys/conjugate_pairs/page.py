"""The page of a run of the conjugate pairs."""

from __future__ import annotations

from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.figures import posterior_figure, risk_figure
from bnnbench.suites.inference_toys.conjugate_pairs.rules import (
    LossMinimisedBy,
    MatchesQuadrature,
    MLEAndMAPConverge,
    TransformInvariance,
    read_run,
)
from bnnbench.suites.inference_toys.sources import BOOK

STATEMENTS = (
    (
        "The posterior of a normal mean is normal with (2.38) and (2.39)",
        f"{BOOK}, 2.5.2",
        MatchesQuadrature(names.MEAN_PAIR, (names.MEAN, names.SCALE)),
    ),
    (
        "The posterior of a precision is Gamma with (2.42)",
        f"{BOOK}, 2.5.2",
        MatchesQuadrature(names.PRECISION_PAIR, (names.MEAN, names.SCALE)),
    ),
    (
        "The Gamma prior is worth 2 alpha observations with sample variance beta / alpha",
        f"{BOOK}, 2.5.2",
        MatchesQuadrature(names.PRECISION_PAIR, (names.MEAN,), names.PSEUDO),
    ),
    (
        "MLE and MAP differ in general and converge as the number of observations grows",
        f"{BOOK}, Fig. 2.4",
        MLEAndMAPConverge(),
    ),
    (
        "The MLE is invariant under reparametrisation",
        f"{BOOK}, 2.6.2",
        TransformInvariance(names.MLE, expected=True),
    ),
    (
        "The MAP estimate is not invariant under reparametrisation",
        f"{BOOK}, 2.6.3",
        TransformInvariance(names.MAP, expected=False),
    ),
    (
        "The posterior mean minimises the expected quadratic loss",
        f"{BOOK}, 2.6.4",
        LossMinimisedBy("quadratic"),
    ),
    (
        "The posterior median minimises the expected absolute loss",
        f"{BOOK}, 2.6.4",
        LossMinimisedBy("absolute"),
    ),
    (
        "The posterior mode minimises the expected 0-1 loss",
        f"{BOOK}, 2.6.4",
        LossMinimisedBy("zero_one"),
    ),
)

CAPTION = (
    "Estimates in the units of the observations (precision: one over their square), log evidence "
    "in nats. Exact values come from quadrature and numerical optimisation, without conjugacy. "
    "Pseudo-observations replace the Gamma prior."
)

NOTES = {
    "corrected": "(2.38) is taken as one over the posterior variance, and (2.39) includes two "
    "variances missing in print; reading=printed uses both as printed.",
    "printed": "(2.38) and (2.39) are used as printed, which explains the differences from the "
    "exact values.",
}


def notes(folder: RunFolder) -> list[str]:
    """Return a note on the equations used."""
    return [NOTES[str(read_record(folder).metadata["reading"])]]


EXPERIMENT_PAGE = ExperimentPage(
    kind=names.KIND,
    title="Conjugate pairs",
    caption=CAPTION,
    figures={"posteriors": posterior_figure, "risks": risk_figure},
    captions={
        "posteriors": "Prior, likelihood (scaled to a density) and posterior of a normal mean "
        "(top) and a precision (bottom), one column per number of observations. Dotted vertical "
        "lines: maximum likelihood (MLE) and maximum a posteriori (MAP) estimates",
        "risks": "Expected posterior loss against the estimate, scaled to the range 0 to 1, one "
        "line per loss. Dotted vertical lines: the estimate that minimises each loss",
    },
    statements=STATEMENTS,
    read_evidence=read_run,
    notes=notes,
)
