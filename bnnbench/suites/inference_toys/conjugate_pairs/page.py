"""The page of a run of the conjugate pairs."""

from __future__ import annotations

from bnnbench.experiment.run_folder import RunFolder, read_record
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.conjugate_pairs import names
from bnnbench.suites.inference_toys.conjugate_pairs.claims import claims
from bnnbench.suites.inference_toys.conjugate_pairs.figures import posterior_figure, risk_figure
from bnnbench.suites.inference_toys.conjugate_pairs.saved_run import read_run

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
    statements=claims,
    read_evidence=read_run,
    notes=notes,
)
