"""The page of a run of the factory."""

from __future__ import annotations

from bnnbench.experiment.run_folder import RunFolder, read_record
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.em_factory import names
from bnnbench.suites.inference_toys.em_factory.claims import claims
from bnnbench.suites.inference_toys.em_factory.figures import em_figure
from bnnbench.suites.inference_toys.em_factory.saved_run import read_run

CAPTION = (
    "beta: malfunctioning items per impure material. tau_1 and tau_n: rates of impure materials of "
    "the first product, whose impure materials were not counted, and of the last, whose "
    "malfunctioning items were not. Exact: the closed form (2.63)-(2.66) and its log-likelihood in "
    "nats; for the rate of convergence, the largest fraction of missing information."
)

NOTES = {
    "corrected": "The sums of (2.63) run over products 2 to n - 1; as printed they start at 1 and "
    "include a missing count (reading=printed).",
    "printed": "The sums of (2.63) start at product 1 as printed and include a missing count, "
    "which explains the differences from EM and L-BFGS.",
}


def notes(folder: RunFolder) -> list[str]:
    """Return a note on the equations used for the exact values."""
    return [NOTES[str(read_record(folder).metadata["reading"])]]


EXPERIMENT_PAGE = ExperimentPage(
    kind=names.KIND,
    title="A factory with missing counts",
    caption=CAPTION,
    figures={"em": em_figure},
    captions={
        "em": "First panel: counts of impure materials and malfunctioning (faulty) items by "
        "product; hollow bars are the two hidden counts. Other panels: parameters, log-likelihood "
        "and error by iteration of EM, one line per random start. Dashed lines: the closed-form "
        "solution and, in the last panel, the predicted rate of convergence",
    },
    statements=claims,
    read_evidence=read_run,
    notes=notes,
)
